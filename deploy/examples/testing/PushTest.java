// A test of code that pushes, in Java: docs/start/test-in-any-language.md. Run it with `java PushTest.java`.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

class PushTest {
    static final String TOKEN = "ab".repeat(32);

    static String value(String name, String usual) {
        return System.getenv().getOrDefault(name, usual);
    }

    // The code under test.
    static int push(String payload) throws Exception {
        var trust = KeyStore.getInstance(KeyStore.getDefaultType());
        trust.load(null);
        try (var file = new FileInputStream(value("CA", ".postrider/authority.pem"))) {
            trust.setCertificateEntry("relay", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trust);
        var tls = SSLContext.getInstance("TLS");
        tls.init(null, managers.getTrustManagers(), null);
        var request = HttpRequest.newBuilder(URI.create(value("APNS", "https://127.0.0.1:2197") + "/3/device/" + TOKEN))
            .header("authorization", "bearer " + value("BEARER", "")).header("apns-topic", "com.example.app")
            .header("apns-push-type", "alert").POST(HttpRequest.BodyPublishers.ofString(payload)).build();
        return HttpClient.newBuilder().sslContext(tls).build().send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }

    // The test.
    public static void main(String[] words) throws Exception {
        if (push("{\"aps\":{\"alert\":{\"title\":\"Tea\"}}}") != 200) throw new AssertionError("the push was refused");
        var captures = HttpRequest.newBuilder(
            URI.create(value("CAPTURES", "http://127.0.0.1:2196") + "/v1/captures?wait=5s&token=" + TOKEN)).build();
        String json = HttpClient.newHttpClient().send(captures, HttpResponse.BodyHandlers.ofString()).body();
        if (!json.contains("\"title\":\"Tea\"")) throw new AssertionError(json);
        System.out.println("passed");
        System.exit(0);
    }
}
