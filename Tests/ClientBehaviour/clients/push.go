// Pushes with Go's net/http: usage in ../measure.py.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

type relay struct {
	Host          string
	ProviderPort  int
	AuthorityFile string
	Topics        []string
}

func main() {
	var to relay
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &to); err != nil {
		panic(err)
	}
	authority, _ := os.ReadFile(to.AuthorityFile)
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true}}
	url := fmt.Sprintf("https://%s:%d/3/device/%s", to.Host, to.ProviderPort, os.Args[3])
	count, _ := strconv.Atoi(os.Args[4])
	for number := 1; number <= count; number++ {
		request, _ := http.NewRequest("POST", url, strings.NewReader(`{"aps":{"alert":"Tea"}}`))
		request.Header.Set("authorization", "bearer "+os.Args[2])
		request.Header.Set("apns-topic", to.Topics[0])
		request.Header.Set("apns-collapse-id", strconv.Itoa(number))
		answer, err := client.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		if err != nil {
			fmt.Println(number, "error", err)
			continue
		}
		fmt.Println(number, answer.StatusCode)
	}
}
