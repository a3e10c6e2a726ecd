// A test of code that pushes, in Go: docs/start/test-in-any-language.md. Run it with `go test push_test.go`.
package push

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

const token = "abababababababababababababababababababababababababababababababab"

func value(name, usual string) string {
	if text := os.Getenv(name); text != "" {
		return text
	}
	return usual
}

// The code under test.
func push(payload string) (*http.Response, error) {
	authority, _ := os.ReadFile(value("CA", ".postrider/authority.pem"))
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authority)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true}}
	request, _ := http.NewRequest("POST", value("APNS", "https://127.0.0.1:2197")+"/3/device/"+token, strings.NewReader(payload))
	request.Header.Set("authorization", "bearer "+os.Getenv("BEARER"))
	request.Header.Set("apns-topic", "com.example.app")
	request.Header.Set("apns-push-type", "alert")
	return client.Do(request)
}

func TestPush(t *testing.T) {
	if answer, err := push(`{"aps":{"alert":{"title":"Tea"}}}`); err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	answer, err := http.Get(value("CAPTURES", "http://127.0.0.1:2196") + "/v1/captures?wait=5s&token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	if captures, _ := io.ReadAll(answer.Body); !strings.Contains(string(captures), `"title":"Tea"`) {
		t.Fatal(string(captures))
	}
}
