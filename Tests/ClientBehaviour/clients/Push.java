// Pushes with Java's java.net.http: usage in ../measure.py.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

class Push {
    static String value(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\\[?\"?([^\",\\]]+)").matcher(json);
        if (!found.find()) throw new IllegalArgumentException(name);
        return found.group(1).replace("\\/", "/");
    }

    public static void main(String[] words) throws Exception {
        String relay = Files.readString(Path.of(words[0]));
        var trust = KeyStore.getInstance(KeyStore.getDefaultType());
        trust.load(null);
        try (var file = new FileInputStream(value(relay, "authorityFile"))) {
            trust.setCertificateEntry("relay", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trust);
        var tls = SSLContext.getInstance("TLS");
        tls.init(null, managers.getTrustManagers(), null);
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(tls).build();
        var uri = URI.create("https://" + value(relay, "host") + ":" + value(relay, "providerPort") + "/3/device/" + words[2]);
        for (int number = 1; number <= Integer.parseInt(words[3]); number++) {
            var request = HttpRequest.newBuilder(uri).header("authorization", "bearer " + words[1])
                .header("apns-topic", value(relay, "topics")).header("apns-collapse-id", "" + number)
                .POST(HttpRequest.BodyPublishers.ofString("{\"aps\":{\"alert\":\"Tea\"}}")).build();
            try {
                System.out.println(number + " " + client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
            } catch (java.io.IOException error) {
                System.out.println(number + " error " + error.getMessage());
            }
        }
        System.exit(0);
    }
}
