package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
)

// Listen is how listeners are opened, in the form of [net.ListenConfig].
type Listen func(ctx context.Context, network, address string) (net.Listener, error)

// ListenInherited returns a Listen that uses sockets which were open before the
// program began, such as those of a systemd socket unit (sd_listen_fds(3)): the
// first address that is listened on gets the first socket, and so on; next opens
// the rest. An address that is listened on again gets its socket again.
//
// Connections wait in such a socket while the program restarts: none is refused.
func ListenInherited(sockets []*os.File, next Listen) Listen {
	var mu sync.Mutex
	taken := map[string]*os.File{}
	return func(ctx context.Context, network, address string) (net.Listener, error) {
		mu.Lock()
		defer mu.Unlock()
		socket, again := taken[address]
		switch {
		case !again && len(sockets) == 0:
			return next(ctx, network, address)
		case !again:
			socket, sockets = sockets[0], sockets[1:]
			taken[address] = socket
		}
		listener, err := net.FileListener(socket)
		if err != nil {
			return nil, fmt.Errorf("use the inherited socket %s for %s: %w", socket.Name(), address, err)
		}
		return listener, nil
	}
}
