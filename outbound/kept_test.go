package outbound_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// serveRaw answers the first so many requests of each connection with a text
// and closes it when the next has come.
func serveRaw(t *testing.T, answered int, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var open sync.Map
	t.Cleanup(func() {
		listener.Close()
		open.Range(func(conn, _ any) bool { return conn.(net.Conn).Close() == nil })
		group.Wait()
	})
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Store(conn, true)
			reader := bufio.NewReader(conn)
			for range answered {
				if readRequest(reader) != nil {
					break
				}
				io.WriteString(conn, answer)
			}
			readRequest(reader)
			conn.Close()
			open.Delete(conn)
		}
	})
	return "http://" + listener.Addr().String()
}

// readRequest takes in one request.
func readRequest(reader *bufio.Reader) error {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

func TestAKeptConnectionThatIsClosedInThatMomentIsTold(t *testing.T) {
	c := client(t, outbound.Config{URL: serveRaw(t, 1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")})
	if answer := c.Send(t.Context(), job("x")); answer.Outcome != webhook.OutcomeDelivered || answer.Raced {
		t.Fatalf("the first: %+v", answer)
	}
	if answer := c.Send(t.Context(), job("x")); answer.Outcome != webhook.OutcomeNetwork || !answer.Raced {
		t.Errorf("on the kept connection: %+v", answer)
	}
	fresh := client(t, outbound.Config{URL: serveRaw(t, 0, "")})
	if answer := fresh.Send(t.Context(), job("x")); answer.Outcome != webhook.OutcomeNetwork || answer.Raced {
		t.Errorf("on a new connection: %+v", answer)
	}
	half := client(t, outbound.Config{URL: serveRaw(t, 2, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")})
	half.Send(t.Context(), job("x"))
	if answer := half.Send(t.Context(), job("x")); answer.Outcome != webhook.OutcomeDelivered || answer.Raced {
		t.Errorf("on a connection that is still open: %+v", answer)
	}
}

func TestAHeaderSectionOverItsBoundBehindA2xxIsDelivered(t *testing.T) {
	long := "X: " + strings.Repeat("x", 100<<10) + "\r\nContent-Length: 0\r\n\r\n"
	for status, want := range map[string]webhook.Outcome{
		"202 Accepted": webhook.OutcomeDelivered,
		"500 No":       webhook.OutcomeNetwork,
		"403 No":       webhook.OutcomeNetwork,
	} {
		c := client(t, outbound.Config{URL: serveRaw(t, 1, "HTTP/1.1 "+status+"\r\n"+long)})
		if answer := c.Send(t.Context(), job("x")); answer.Outcome != want {
			t.Errorf("%s: %+v", status, answer)
		}
	}
}
