import CPostriderSSL
import Foundation
import PostriderTransport
import Testing

@testable import PostriderCrypto
@testable import PostriderTLS

@Suite("What TLS is spoken with strangers", .serialized) struct TLSPolicyTests {
    let certificates: TestCertificates
    let context: TLSContext

    init() throws {
        certificates = try TestCertificates()
        context = try certificates.server()
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
        let client = try ForeignClient(
            context, in: certificates, options.split(separator: " ").map(String.init))
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
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
            "-tls1_2 -cipher DEFAULT@SECLEVEL=0 -sigalgs ECDSA+SHA1",
            "-tls1_2 -cipher DEFAULT@SECLEVEL=0 -sigalgs ECDSA+SHA224",
            "-tls1_3 -sigalgs RSA-PSS+SHA256",
        ])
    func refused(options: String) throws {
        let client = try ForeignClient(
            context, in: certificates, options.split(separator: " ").map(String.init))
        let error = #expect(throws: CryptoError.self) {
            _ = try client.server.handshake(using: client.ciphers)
        }
        #expect(error?.origin == .peer)
        #expect(client.end().contains("alert"))
    }

    @Test("Exactly these suites are there")
    func suites() throws {
        let pair = try SocketPair(context, certificates.client())
        var names: [String] = []
        while let name = unsafe SSL_get_cipher_list(pair.server.pointer, Int32(names.count)) {
            unsafe names.append(String(cString: name))
        }
        let forEach = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
        let expected =
            ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
            + forEach.flatMap { ["ECDHE-ECDSA-" + $0, "ECDHE-RSA-" + $0] }
        #expect(names.sorted() == expected.sorted())
    }

    @Test(
        "Any server name is tolerated, and none",
        arguments: ["-servername localhost", "-servername api.push.apple.com", "-noservername"])
    func serverNames(options: String) throws {
        let client = try ForeignClient(
            context, in: certificates, options.split(separator: " ").map(String.init))
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        #expect(client.end().contains("Verification: OK"))
    }

    @Test(
        "Nothing is given to a client with which it could resume, or send early data",
        arguments: ["-tls1_2", "-tls1_2 -no_ticket", "-tls1_3"])
    func resumption(options: String) throws {
        let file = certificates.path("session.pem")
        let words = options.split(separator: " ").map(String.init) + ["-sess_out", file]
        let client = try ForeignClient(context, in: certificates, words)
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        _ = try client.write(Array("hello".utf8))
        #expect(client.end().contains("hello"))
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(unsafe SSL_CTX_get_num_tickets(context.pointer) == 0)
        #expect(unsafe SSL_CTX_get_max_early_data(context.pointer) == 0)
        #expect(unsafe SSL_CTX_get_recv_max_early_data(context.pointer) == 0)
    }

    @Test(
        "A peer that does nothing but change its keys is cut off; one that also says something is not",
        arguments: [false, true])
    func keyUpdates(leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        for _ in 0..<20 {
            for _ in 0..<10 { changeKeys(pair.client) }
            #expect(try pair.write([1], to: pair.client) == .bytes(1))
            #expect(try pair.read(pair.server).1 == [1])
        }
        for _ in 0..<200 { changeKeys(pair.client) }
        let error = #expect(throws: CryptoError.self) { try pair.read(pair.server) }
        #expect(error?.origin == .peer)
        #expect(error?.description.contains("too many KeyUpdates") == true)
        #expect(try pair.read(pair.server).0 == .endOfStream)
    }

    private func changeKeys(_ stream: TLSStream) {
        #expect(unsafe SSL_key_update(stream.pointer, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
        #expect(unsafe SSL_do_handshake(stream.pointer) == 1)
    }

    @Test(
        "A stock client goes on with a server that has left OpenSSL, and each may ask the other for new keys",
        arguments: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
    func leaving(suite: String) throws {
        let client = try ForeignClient(context, in: certificates, ["-tls1_3", "-ciphersuites", suite])
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        client.server.leaveHandshake(using: client.ciphers)
        client.type("before")
        #expect(try client.read().1 == Array("before\n".utf8))
        #expect(try client.write(Array("first".utf8)) == .bytes(5))
        // The client changes its key and asks for a new one of ours.
        client.type("K")
        client.awaitInput()
        client.type("after")
        #expect(try client.read().1 == Array("after\n".utf8))
        #expect(try client.write(Array("second".utf8)) == .bytes(6))
        client.type("again")
        #expect(try client.read().1 == Array("again\n".utf8))
        let said = client.end()
        #expect(said.contains("first"))
        #expect(said.contains("second"))
        #expect(!said.contains("error"))
    }

    @Test("Streams of TLS 1.2 and of clients stay with OpenSSL, and go on")
    func staying() throws {
        let client = try ForeignClient(context, in: certificates, ["-tls1_2"])
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        client.server.leaveHandshake(using: client.ciphers)
        #expect(client.server.version == "TLSv1.2")
        client.type("hello")
        #expect(try client.read().1 == Array("hello\n".utf8))
        #expect(try client.write(Array("answer".utf8)) == .bytes(6))
        #expect(client.end().contains("answer"))
        let pair = try SocketPair(certificates, leaving: true)
        pair.client.leaveHandshake(using: pair.ciphers)
        #expect(pair.client.version == "TLSv1.3")
        #expect(try pair.write([1], to: pair.server) == .bytes(1))
        #expect(try pair.read(pair.client).1 == [1])
    }

    @Test(
        "Records are no longer than a client has asked for", .bug(id: "R19"),
        arguments: ["-tls1_3", "-tls1_2"], [512, 1024, 2048, 4096])
    func fragments(version: String, mostBytes: Int) throws {
        let options = [version, "-maxfraglen", String(mostBytes), "-msg"]
        let client = try ForeignClient(context, in: certificates, options)
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        client.server.leaveHandshake(using: client.ciphers)
        #expect(client.server.hasLeftOpenSSL == (version == "-tls1_3"))
        var rest = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        while !rest.isEmpty {
            guard case .bytes(let count) = try client.write(rest) else { break }
            #expect(count <= mostBytes)
            rest.removeFirst(count)
        }
        #expect(rest.isEmpty)
        let sizes = Self.recordBytes(in: client.end())
        // The content type and a tag, or a nonce of eight bytes and a tag.
        let most = mostBytes + (version == "-tls1_3" ? 1 + 16 : 8 + 16)
        #expect(sizes.max() == most)
        #expect(sizes.count { $0 == most } == 20_000 / mostBytes)
    }

    /// Returns the lengths of the records of application data that `openssl s_client -msg` has received.
    private static func recordBytes(in text: String) -> [Int] {
        // The client prints content in front of a title, without the end of a line.
        let lines = text.split(separator: "\n")
        return zip(lines, lines.dropFirst()).compactMap { title, line in
            guard title.contains("<<<"), title.contains("RecordHeader") else { return nil }
            let bytes = line.split(separator: " ").compactMap { Int($0, radix: 16) }
            return bytes.count == 5 && bytes[0] == 23 ? bytes[3] << 8 + bytes[4] : nil
        }
    }

    @Test("A client that wants to renegotiate is refused, and gets nothing else")
    func renegotiation() throws {
        let client = try ForeignClient(context, in: certificates, ["-tls1_2"])
        #expect(try client.server.handshake(using: client.ciphers) == .complete)
        client.type("R")
        let transfer = try? client.read().0
        #expect(transfer == nil || transfer == .endOfStream)
        #expect(client.end().contains("RENEGOTIATING"))
    }
}
