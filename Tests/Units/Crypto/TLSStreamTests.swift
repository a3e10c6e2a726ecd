import Crypto
import Foundation
import Testing

@Suite("TLS streams") struct TLSStreamTests {
    let pair: SocketPair

    init() throws {
        let paper = try Paper()
        pair = try SocketPair(paper.server(), paper.client())
        let outcome = pair.handshake()
        #expect(outcome.server == nil && outcome.client == nil)
    }

    @Test("What one side writes the other reads, and then it wants more")
    func exchange() throws {
        #expect(try pair.client.write(Array("hello".utf8).span) == .bytes(5))
        let (transfer, bytes) = try pair.server.read()
        #expect(transfer == .bytes(5))
        #expect(bytes == Array("hello".utf8))
        #expect(try pair.server.read().0 == .wantsRead)
        #expect(try pair.server.write([UInt8]().span) == .bytes(0))
    }

    @Test("A read into a small buffer leaves the rest waiting inside, and says so")
    func smallReads() throws {
        #expect(try pair.client.write(Array("hello".utf8).span) == .bytes(5))
        #expect(try pair.server.read(2).1 == Array("he".utf8))
        #expect(pair.server.hasBufferedInput)
        #expect(try pair.server.read().1 == Array("llo".utf8))
        #expect(!pair.server.hasBufferedInput)
    }

    @Test(
        "A socket that is full makes writes wait; every byte arrives once, in order, from memory that moves")
    func backPressure() throws {
        let sent = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        var rest = sent[...]
        var received = [UInt8]()
        var waits = 0
        while received.count < sent.count {
            writing: while !rest.isEmpty {
                switch try pair.server.write(Array(rest.prefix(100_000)).span) {
                case .bytes(let count): rest = rest.dropFirst(count)
                case .wantsRead, .wantsWrite, .endOfStream:
                    waits += 1
                    break writing
                }
            }
            while case (.bytes, let bytes) = try pair.client.read() { received += bytes }
        }
        #expect(received == sent)
        #expect(waits > 0)
    }

    @Test("A shutdown reaches the peer as the end, after what was written before it")
    func closeNotify() throws {
        _ = try pair.server.write(Array("last".utf8).span)
        pair.server.shutdown()
        #expect(try pair.client.read().1 == Array("last".utf8))
        #expect(try pair.client.read().0 == .endOfStream)
    }

    @Test("A peer that closes its socket without a word is at its end")
    func silentEnd() throws {
        Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
        #expect(try pair.server.read().0 == .endOfStream)
    }

    @Test("Bytes that are not TLS break the stream: a sentence, and from then on its end")
    func garbage() throws {
        let bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
        let error = #expect(throws: CryptoError.self) { _ = try pair.server.read() }
        #expect(error?.origin == .peer)
        #expect(try pair.server.read().0 == .endOfStream)
        #expect(try pair.server.write(bytes.span) == .endOfStream)
        pair.server.shutdown()
    }

    @Test(
        "Records that are cut short or too long end the stream at once",
        arguments: [
            ([0x17, 0x03, 0x03, 0x00, 0x64, 1, 2, 3], nil), ([0x17, 0x03], nil),
            ([0x17, 0x03, 0x03, 0x48, 0x01], .peer), ([0x99, 0x03, 0x03, 0x00, 0x01, 0], .peer),
        ] as [([UInt8], CryptoError.Origin?)])
    func badRecords(bytes: [UInt8], origin: CryptoError.Origin?) throws {
        #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
        if let origin {
            let error = #expect(throws: CryptoError.self) { _ = try pair.server.read() }
            #expect(error?.origin == origin)
        } else {
            #expect(try pair.server.read().0 == .wantsRead)
            Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
        }
        #expect(try pair.server.read().0 == .endOfStream)
    }

    @Test("A write to a connection that is gone is the connection's fault")
    func brokenPipe() throws {
        Glibc.shutdown(pair.descriptors[1], Int32(SHUT_RD))
        let error = #expect(throws: CryptoError.self) { _ = try pair.server.write([1].span) }
        #expect(error?.origin == .connection)
    }

    @Test(
        "In the handshake, leaving is the connection's fault, and speaking something else the peer's"
    )
    func failedHandshakes() throws {
        let paper = try Paper()
        for (text, origin) in [
            ("", CryptoError.Origin.connection), ("GET / HTTP/1.1\r\n\r\n", .peer),
            ("\u{16}\u{3}\u{1}\u{0}\u{64}\u{1}", .connection), ("\u{16}\u{3}\u{1}\u{7F}\u{7F}\u{1}", .peer),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .peer),
        ] {
            let pair = try SocketPair(paper.server(), paper.client())
            let bytes = Array(text.utf8)
            #expect(unsafe send(pair.descriptors[1], bytes, bytes.count, 0) == bytes.count)
            Glibc.shutdown(pair.descriptors[1], Int32(SHUT_WR))
            let error = #expect(throws: CryptoError.self) { _ = try pair.server.handshake() }
            #expect(error?.origin == origin)
            pair.server.shutdown()
        }
    }
}
