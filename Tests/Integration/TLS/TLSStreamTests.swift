import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport
import Testing

/// Runs each test with a server that stays with OpenSSL, and with one that has its own record layer: the results must
/// be the same.
@Suite("TLS streams") struct TLSStreamTests {
    let certificates: TestCertificates

    init() throws { certificates = try TestCertificates() }

    @Test("What one side writes the other reads, and then it wants more", arguments: [false, true])
    func exchange(leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        for (writer, reader) in [(pair.client, pair.server), (pair.server, pair.client)] {
            #expect(try pair.write(Array("hello".utf8), to: writer) == .bytes(5))
            let (transfer, bytes) = try pair.read(reader)
            #expect(transfer == .bytes(5))
            #expect(bytes == Array("hello".utf8))
            #expect(try pair.read(reader).0 == .wantsRead)
            #expect(try pair.write([], to: writer) == .bytes(0))
        }
    }

    @Test("Records that have come together are read one by one by OpenSSL, and in one by us")
    func recordsTogether() throws {
        let pair = try SocketPair(certificates, leaving: true)
        for stream in [pair.server, pair.client] {
            for byte in [1, 2] as [UInt8] { #expect(try pair.write([byte], to: stream) == .bytes(1)) }
        }
        #expect(try pair.read(pair.client).1 == [1])
        #expect(pair.client.hasBufferedInput)
        #expect(try pair.read(pair.client).1 == [2])
        #expect(!pair.client.hasBufferedInput)
        #expect(try pair.read(pair.server).1 == [1, 2])
        #expect(!pair.server.hasBufferedInput)
    }

    @Test(
        "A socket that is full makes writes wait; every byte arrives once, in order, from memory that moves",
        arguments: [(false, false), (true, false), (true, true)])
    func backPressure(leaving: Bool, fromClient: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        let (writer, reader) = fromClient ? (pair.client, pair.server) : (pair.server, pair.client)
        let sent = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        var rest = sent[...]
        var received = [UInt8]()
        var waits = 0
        while received.count < sent.count {
            writing: while !rest.isEmpty {
                switch try pair.write(Array(rest.prefix(100_000)), to: writer) {
                case .bytes(let count): rest = rest.dropFirst(count)
                case .wantsRead, .wantsWrite, .endOfStream:
                    waits += 1
                    break writing
                }
            }
            while case (.bytes, let bytes) = try pair.read(reader) { received += bytes }
        }
        #expect(received == sent)
        #expect(waits > 0)
    }

    @Test(
        "A shutdown reaches the peer as the end, after what was written before it",
        arguments: [(false, false), (true, false), (true, true)])
    func closeNotify(leaving: Bool, fromClient: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        let (writer, reader) = fromClient ? (pair.client, pair.server) : (pair.server, pair.client)
        _ = try pair.write(Array("last".utf8), to: writer)
        writer.shutdown(using: pair.ciphers)
        #expect(try pair.read(reader).1 == Array("last".utf8))
        #expect(reader.hasBufferedInput)
        #expect(try pair.read(reader).0 == .endOfStream)
        // The other direction still works.
        #expect(try pair.write([1], to: reader) == .bytes(1))
    }

    @Test("A peer that closes its socket without a word is at its end", arguments: [false, true])
    func silentEnd(leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
        #expect(try pair.read(pair.server).0 == .endOfStream)
        #expect(try pair.read(pair.server).0 == .endOfStream)
    }

    @Test(
        "Bytes that are not TLS break the stream: a sentence, and from then on its end",
        arguments: [false, true])
    func garbage(leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        let bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
        let error = #expect(throws: CryptoError.self) { _ = try pair.read(pair.server) }
        #expect(error?.origin == .peer)
        #expect(try pair.read(pair.server).0 == .endOfStream)
        #expect(try pair.write(bytes, to: pair.server) == .endOfStream)
        pair.server.shutdown(using: pair.ciphers)
        // The peer is told as well.
        let told = #expect(throws: CryptoError.self) { _ = try pair.read(pair.client) }
        #expect(told?.description.contains("alert") == true)
    }

    @Test(
        "Records that are cut short or too long end the stream at once",
        arguments: [
            ([0x17, 0x03, 0x03, 0x00, 0x64, 1, 2, 3], nil), ([0x17, 0x03], nil),
            ([0x17, 0x03, 0x03, 0x48, 0x01], .peer), ([0x99, 0x03, 0x03, 0x00, 0x01, 0], .peer),
        ] as [([UInt8], CryptoError.Origin?)], [false, true])
    func badRecords(record: ([UInt8], CryptoError.Origin?), leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        let (bytes, origin) = record
        #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
        if let origin {
            let error = #expect(throws: CryptoError.self) { _ = try pair.read(pair.server) }
            #expect(error?.origin == origin)
        } else {
            #expect(try pair.read(pair.server).0 == .wantsRead)
            Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
        }
        #expect(try pair.read(pair.server).0 == .endOfStream)
    }

    @Test("A write to a connection that is gone is the connection's fault", arguments: [false, true])
    func brokenPipe(leaving: Bool) throws {
        let pair = try SocketPair(certificates, leaving: leaving)
        Glibc.shutdown(pair.descriptors[1], Int32(SHUT_RD))
        let error = #expect(throws: CryptoError.self) { _ = try pair.write([1], to: pair.server) }
        #expect(error?.origin == .connection)
    }

    @Test(
        "In the handshake, leaving is the connection's fault, and speaking something else the peer's"
    )
    func failedHandshakes() throws {
        for (text, origin) in [
            ("", CryptoError.Origin.connection), ("GET / HTTP/1.1\r\n\r\n", .peer),
            ("\u{16}\u{3}\u{1}\u{0}\u{64}\u{1}", .connection), ("\u{16}\u{3}\u{1}\u{7F}\u{7F}\u{1}", .peer),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .peer),
        ] {
            let pair = try SocketPair(certificates.server(), certificates.client())
            let bytes = Array(text.utf8)
            #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
            Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
            let error = #expect(throws: CryptoError.self) {
                _ = try pair.server.handshake(using: pair.ciphers)
            }
            #expect(error?.origin == origin)
            pair.server.shutdown(using: pair.ciphers)
        }
    }
}
