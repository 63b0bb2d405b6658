package outbound_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"weir/outbound"
)

func TestWhatLooksLikeACredentialIsRedacted(t *testing.T) {
	const gone = "[redacted]"
	for _, c := range []struct{ name, in, want string }{
		{"member", `{"token":"abc","a":1}`, `{"token":"` + gone + `","a":1}`},
		{"any spelling", `{"X-API-Key" : "abc"}`, `{"X-API-Key" : "` + gone + `"}`},
		{"part of a name", `{"client_secret_value":"abc"}`, `{"client_secret_value":"` + gone + `"}`},
		{"number", `{"password":123456}`, `{"password":` + gone + `}`},
		{"escaped quote", `{"token":"a\"b","c":1}`, `{"token":"` + gone + `","c":1}`},
		{"escaped backslash", `{"token":"a\\","c":1}`, `{"token":"` + gone + `","c":1}`},
		{"JSON in JSON", `{"m":"{\"token\":\"abc\",\"c\":1}"}`, `{"m":"{\"token\":\"` + gone + `\",\"c\":1}"}`},
		{"list", `{"authorization":["Bearer a","b"],"c":1}`, `{"authorization":` + gone + `],"c":1}`},
		{"object", `{"token":{"a":1}}`, `{"token":{"a":1}}`},
		{"never closed", `{"token":"abc`, `{"token":"` + gone},
		{"form", "a=1&access_token=abc&b=2", "a=1&access_token=" + gone + "&b=2"},
		{"header", "Cookie: a=b; c=d\nX: y", "Cookie: " + gone + "\nX: y"},
		{"tag", "<Token>abc</Token>", "<Token>" + gone + "</Token>"},
		{"prose", "Invalid token: abc, sorry", "Invalid token: " + gone + ", sorry"},
		{"bearer", "sent Bearer abc.def-ghi twice", "sent Bearer " + gone + " twice"},
		{"basic", "basic dXNlcjpwYXNz!", "basic " + gone + "!"},
		{"a challenge", `Bearer error="invalid_token"`, `Bearer error="invalid_token"`},
		{"a sentence", "Basic authentication is required", "Basic authentication is required"},
		{"key", "key sk-proj-EXAMPLE0000 is wrong", "key " + gone + " is wrong"},
		{"webhook key", "(whsec_abcdefghij)", "(" + gone + ")"},
		{"web token", "eyJhbGciOi.eyJzdWIi.abc_-", gone},
		{"no key", "task-force sk-1", "task-force sk-1"},
		{"address", "https://user:pa@ss@x.example/a@b", "https://" + gone + "@x.example/a@b"},
		{"no credentials", "https://x.example/a@b", "https://x.example/a@b"},
		{"counts", `{"max_tokens":8192,"tokens":"12"}`, `{"max_tokens":8192,"tokens":"` + gone + `"}`},
		{"no value", `the token expired, "signature mismatch"`, `the token expired, "signature mismatch"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outbound.Secrets{}.Redact(c.in, 1000)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := (outbound.Secrets{}).Redact(got, 1000); again != got {
				t.Errorf("redacted again it is %s", again)
			}
		})
	}
}

// A secret that lies across the edge leaves no part of itself behind.
func TestNoPartOfASecretIsLeftAtTheEdge(t *testing.T) {
	const secret = "Zq7!Zq8!Zq9!"
	secrets := outbound.NewSecrets(secret)
	for _, form := range []string{secret, `"token":"` + secret + `"`, "Bearer QQQQQQQQQQQQ", "sk-QQQQQQQQQQQQ", "http://QQQ:QQQ@x"} {
		for offset := range 60 {
			text := strings.Repeat(".", offset) + " " + form + " é" + strings.Repeat(".", 80)
			for _, most := range []int{10, 33, 60} {
				got := secrets.Redact(text, most)
				if len(got) > most || !utf8.ValidString(got) || strings.Contains(got, "Zq") || strings.Contains(got, "Q") {
					t.Fatalf("%q cut to %d is %q", text, most, got)
				}
			}
		}
	}
}

func TestATailThatBeginsASecretIsRedacted(t *testing.T) {
	secrets := outbound.NewSecrets("correct-horse-battery")
	for _, tail := range []string{"correct-horse-batter", "correct-", "corr"} {
		if got := secrets.Redact("your key is "+tail, 1000); got != "your key is [redacted]" {
			t.Errorf("with the tail %q: %q", tail, got)
		}
	}
	if got := secrets.Redact("in the cor", 1000); got != "in the cor" {
		t.Errorf("got %q", got)
	}
}

func TestHeadersThatNameSecretsAreNotKept(t *testing.T) {
	r := answerOf(429, "X-Retry-Token: abcdef\nSet-Cookie: a=b\nAuthorization: x\nX-RateLimit-Remaining-Tokens: 63\nX-Other: 1", "")
	kept := outbound.Read(r, noon).Evidence.Headers
	if len(kept) != 1 || kept["X-Ratelimit-Remaining-Tokens"] != "63" {
		t.Errorf("kept %v", kept)
	}
}

func TestTheNoteOfAFaultHasNoQuery(t *testing.T) {
	fault := textError(`Post "https://u:p@x.example/hook?key=abc#d": proxyconnect ws://y?z=1 failed`)
	got := outbound.Read(outbound.Response{Err: fault}, noon).Evidence.Note
	if want := `Post "https://[redacted]@x.example/hook": proxyconnect ws://y failed`; got != want {
		t.Errorf("note %s, want %s", got, want)
	}
}

// The escapes that encoders of JSON, addresses and HTML write hide nothing.
func TestSecretsInEscapesAreRedacted(t *testing.T) {
	secrets := outbound.NewSecrets("pass+word=/a&b")
	for _, echoed := range []string{
		`pass\u002Bword\u003d\/a\u0026b`, `pass\u002bword\u003D/a&b`, `pass&#43;word&#x3D;&#x2F;a&amp;b`,
		`pass%2bword%3d%2fa%26b`, `pass%2Bword=/a&b`, `pass\\u002bword=/a&b`, `%70ass+word=/a&b`, `pass&amp;#43;word=/a&b`,
	} {
		if got := secrets.Redact("<"+echoed+"> and more &amp; %41", 200); got != "<[redacted]> and more &amp; %41" {
			t.Errorf("%s is kept as %q", echoed, got)
		}
	}
}
