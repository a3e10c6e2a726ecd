import Crypto
import Testing

@Suite("What TLS is spoken with strangers", .serialized) struct TLSPolicyTests {
    let paper: Paper
    let context: TLSContext

    init() throws {
        paper = try Paper()
        context = try paper.server()
    }

    @Test(
        "TLS 1.2 and 1.3 with AEAD suites, X25519 and P-256 are spoken, without tickets or compression",
        arguments: [
            ("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256"),
            ("-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384", "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384"),
            ("-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305", "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305"),
            ("-tls1_3 -groups P-256 -ciphersuites TLS_AES_128_GCM_SHA256", "TLSv1.3 TLS_AES_128_GCM_SHA256"),
            ("-tls1_3 -groups X25519 -ciphersuites TLS_AES_256_GCM_SHA384", "TLSv1.3 TLS_AES_256_GCM_SHA384"),
            ("-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256"),
        ])
    func spoken(options: String, expected: String) throws {
        let client = try ForeignClient(context, in: paper, options.split(separator: " ").map(String.init))
        #expect(try client.server.handshake() == .complete)
        #expect("\(client.server.version) \(client.server.cipher)" == expected)
        let said = client.end()
        #expect(said.contains("Verification: OK"))
        #expect(said.contains("Compression: NONE"))
        #expect(!said.contains("icket"))
    }

    @Test(
        "Older versions, other suites and other groups are refused",
        arguments: [
            "-tls1_1 -cipher DEFAULT@SECLEVEL=0",
            "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA256",
            "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA",
            "-tls1_2 -cipher ECDHE-ECDSA-AES128-CCM8",
            "-tls1_2 -cipher ECDHE-ARIA128-GCM-SHA256:ECDHE-ECDSA-ARIA128-GCM-SHA256",
            "-tls1_2 -cipher ECDHE-ECDSA-CAMELLIA128-SHA256",
            "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256",
            "-groups P-384",
            "-groups X448",
        ])
    func refused(options: String) throws {
        let client = try ForeignClient(context, in: paper, options.split(separator: " ").map(String.init))
        let error = #expect(throws: CryptoError.self) { _ = try client.server.handshake() }
        #expect(error?.origin == .peer)
        #expect(client.end().contains("alert"))
    }

    @Test("A client that wants to renegotiate is refused, and gets nothing else")
    func renegotiation() throws {
        let client = try ForeignClient(context, in: paper, ["-tls1_2"])
        #expect(try client.server.handshake() == .complete)
        client.type("R")
        let transfer = try? client.server.read().0
        #expect(transfer == nil || transfer == .endOfStream)
        #expect(client.end().contains("RENEGOTIATING"))
    }
}
