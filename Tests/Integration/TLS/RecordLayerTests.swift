import PostriderTransport
import Testing

@testable import PostriderCrypto
@testable import PostriderTLS

@Suite("The records of TLS 1.3") struct RecordLayerTests {
    private let ciphers = AEADContexts()

    @Test("A record of RFC 8448, 3 is opened, and sealed to the byte")
    func vector() throws {
        let secret = hex("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5")
        let receiving = try TrafficKey.of(secret, .aes128GCM, ciphers)
        let sending = try TrafficKey.of(secret, .aes128GCM, ciphers)
        #expect(unsafe receiving.key.elementsEqual(hex("17422dda596ed5d9acd890e3c63f5051")))
        let record = hex(
            """
            1703030043 a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a
            9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4
            """)
        let layer = ServerRecords(RecordLayer(.aes128GCM, receiving: receiving, sending: sending))
        #expect(try layer.take(record, ciphers)?.1 == Array(0..<50))
        #expect(try layer.say(Array(0..<50), ciphers) == record)
    }

    @Test("Content of any size comes through, padded or not, in every suite", arguments: RecordSuite.allCases)
    func sizes(suite: RecordSuite) throws {
        let (peer, server) = try RecordPeer.pair(suite)
        for count in [1, 15, 16, 17, 255, 4096, 16_384] {
            let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            for padding in [0, 1, 200] where count + padding <= RecordLayer.mostContent {
                let record = try peer.record(content + [23] + [UInt8](repeating: 0, count: padding))
                #expect(try server.take(record + [1, 2, 3], ciphers)?.1 == content)
            }
            var said = try server.say(content, ciphers)
            #expect(try peer.open(&said) == content + [23])
            #expect(said.isEmpty)
        }
    }

    @Test("A record that is not all there is waited for, at whatever byte it is cut")
    func pieces() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        let record = try peer.record([7, 23])
        for count in 0..<record.count {
            #expect(try server.take(Array(record[..<count]), ciphers) == nil)
        }
        #expect(try server.take(record, ciphers)?.1 == [7])
    }

    @Test("A record that was changed anywhere, comes again or comes too early is not genuine")
    func forgeries() throws {
        for place in 0..<23 where place != 0 && place != 3 && place != 4 {
            let (peer, server) = try RecordPeer.pair(.aes256GCM)
            var record = try peer.record([7, 23])
            record[place] ^= 1
            #expect(violation(of: record, by: server)?.alert == .badRecordMAC)
        }
        let (peer, server) = try RecordPeer.pair(.chaCha20Poly1305)
        let first = try peer.record([1, 23])
        let second = try peer.record([2, 23])
        let (_, early) = try RecordPeer.pair(.chaCha20Poly1305)
        #expect(violation(of: second, by: early)?.alert == .badRecordMAC)
        #expect(try server.take(first, ciphers)?.1 == [1])
        #expect(violation(of: first, by: server)?.alert == .badRecordMAC)
    }

    /// The plaintext of a wrong record, with its content type last, and the alert that RFC 8446 prescribes.
    struct Violation: CustomTestStringConvertible, Sendable {
        let inside: [UInt8]
        let alert: RecordViolation.Alert
        let why: String

        init(_ inside: [UInt8], _ alert: RecordViolation.Alert, _ why: String) {
            (self.inside, self.alert, self.why) = (inside, alert, why)
        }

        var testDescription: String { why }
    }

    @Test(
        "A record that breaks the rules is answered with the alert of RFC 8446", .bug(id: "R20"),
        arguments: [
            Violation([], .unexpectedMessage, "5.4: no content type"),
            Violation([0], .unexpectedMessage, "5.4: only padding"),
            Violation([0, 0, 0], .unexpectedMessage, "5.4: only padding"),
            Violation([1, 20], .unexpectedMessage, "5: change_cipher_spec, protected"),
            Violation([1, 24], .unexpectedMessage, "5.1: heartbeat"),
            Violation([1, 99], .unexpectedMessage, "5.1: a content type that nobody knows"),
            Violation([22], .unexpectedMessage, "5.4: an empty handshake record"),
            Violation([1, 0, 0, 0, 22], .unexpectedMessage, "4.1.2: a ClientHello after the handshake"),
            Violation([4, 0, 0, 1, 0, 22], .unexpectedMessage, "4.6.1: a ticket from a client"),
            Violation([11, 0, 0, 4, 0, 0, 0, 0, 22], .unexpectedMessage, "4.6.2: an unasked Certificate"),
            Violation([20, 0, 0, 1, 0, 22], .unexpectedMessage, "4: a second Finished"),
            Violation([24, 0, 0, 0, 22], .decodeError, "6.2: a KeyUpdate of no bytes"),
            Violation([24, 0, 0, 2, 0, 0, 22], .decodeError, "6.2: a KeyUpdate of two bytes"),
            Violation([24, 1, 0, 1, 0, 22], .decodeError, "6.2: a KeyUpdate of 65,537 bytes"),
            Violation([24, 0, 0, 1, 2, 22], .illegalParameter, "4.6.3: a KeyUpdate with the request 2"),
            Violation([24, 0, 0, 1, 255, 22], .illegalParameter, "4.6.3: a KeyUpdate with the request 255"),
            Violation(
                [24, 0, 0, 1, 0, 24, 0, 0, 1, 0, 22], .unexpectedMessage, "5.1: two KeyUpdates in a record"),
            Violation([21], .unexpectedMessage, "5.4: an empty alert record"),
            Violation([1, 21], .decodeError, "6: an alert of one byte"),
            Violation([1, 0, 0, 21], .decodeError, "6: an alert of three bytes"),
            Violation([1, 0, 1, 0, 21], .decodeError, "5.1: two alerts in a record"),
        ])
    func violations(_ violation: Violation) throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        #expect(self.violation(of: try peer.record(violation.inside), by: server)?.alert == violation.alert)
    }

    @Test("A KeyUpdate may be cut into records; nothing may come between them", .bug(id: "R20"))
    func piecesOfKeyUpdates() throws {
        for cut in 1..<5 {
            let (peer, server) = try RecordPeer.pair(.aes128GCM)
            let message: [UInt8] = [24, 0, 0, 1, 1]
            #expect(try server.take(peer.record(message[..<cut] + [22]), ciphers)?.0 == .nothing)
            let (otherPeer, otherServer) = try RecordPeer.pair(.aes128GCM)
            _ = try otherServer.take(otherPeer.record(message[..<cut] + [22]), ciphers)
            let between = violation(of: try otherPeer.record([7, 23]), by: otherServer)
            #expect(between?.alert == .unexpectedMessage)
            #expect(try server.take(peer.record(message[cut...] + [22]), ciphers)?.0 == .nothing)
            try peer.advanceSending()
            #expect(try server.take(peer.record([9, 23]), ciphers)?.1 == [9])
        }
    }

    @Test("The log has the alert's standard name", .bug(id: "R20"))
    func names() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        #expect(
            violation(of: try peer.record([24, 0, 0, 1, 2, 22]), by: server)?.sentence
                == "a KeyUpdate with the request 2 (illegal_parameter)")
        let names: [UInt8: String] = [
            0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow",
            40: "handshake_failure", 42: "bad_certificate", 47: "illegal_parameter", 48: "unknown_ca",
            50: "decode_error", 51: "decrypt_error", 70: "protocol_version", 80: "internal_error",
            86: "inappropriate_fallback", 90: "user_canceled", 109: "missing_extension",
            110: "unsupported_extension", 112: "unrecognized_name", 115: "unknown_psk_identity",
            116: "certificate_required", 120: "no_application_protocol", 201: "alert 201",
        ]
        for (number, name) in names { #expect(TLSAlert.name(of: number) == name) }
    }

    @Test(
        "A record that is longer than TLS allows is refused, by its head or by what is in it", .bug(id: "R20")
    )
    func lengths() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        let longest = [UInt8](repeating: 1, count: 16_384)
        let padded = [UInt8](repeating: 1, count: 16_000) + [23] + [UInt8](repeating: 0, count: 384)
        #expect(try server.take(peer.record(longest + [23]), ciphers)?.1 == longest)
        #expect(try server.take(peer.record(padded), ciphers)?.1.count == 16_000)
        #expect(violation(of: [23, 3, 3, 0x41, 0x01], by: server)?.alert == .recordOverflow)
        let (otherPeer, otherServer) = try RecordPeer.pair(.aes128GCM)
        let tooLong = try otherPeer.record(longest + [1, 23])
        #expect(violation(of: tooLong, by: otherServer)?.alert == .recordOverflow)
        #expect(try violation(of: peer.record(padded + [0]), by: server)?.alert == .recordOverflow)
    }

    @Test("What was negotiated as the most content of a record holds for both directions", .bug(id: "R19"))
    func contentLimit() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM, contentLimit: 512)
        let longest = [UInt8](repeating: 1, count: 512)
        #expect(try server.take(peer.record(longest + [23]), ciphers)?.1 == longest)
        var said = try server.say(longest, ciphers)
        #expect(try peer.open(&said) == longest + [23])
        #expect(try violation(of: peer.record(longest + [1, 23]), by: server)?.alert == .recordOverflow)
    }

    @Test("Nothing that is not sealed is taken any more", arguments: [20, 21, 22, 0, 255] as [UInt8])
    func unsealed(kind: UInt8) throws {
        let (_, server) = try RecordPeer.pair(.aes128GCM)
        #expect(violation(of: [kind, 3, 3, 0, 2, 1, 0], by: server)?.alert == .unexpectedMessage)
    }

    @Test("A new key of the peer is gone over to; where it asks for ours, one answers all that have asked")
    func keyUpdates() throws {
        for suite in RecordSuite.allCases {
            let (peer, server) = try RecordPeer.pair(suite)
            for request in [0, 1, 1] as [UInt8] {
                let (arrival, _) = try #require(
                    try server.take(peer.record([24, 0, 0, 1, request, 22]), ciphers))
                #expect(arrival == .nothing)
                try peer.advanceSending()
                #expect(try server.take(peer.record([9, 23]), ciphers)?.1 == [9])
            }
            var said = try server.say([1], ciphers)
            #expect(try peer.open(&said) == [24, 0, 0, 1, 0, 22])
            try peer.advanceReceiving()
            #expect(try peer.open(&said) == [1, 23])
            said = try server.say([2], ciphers)
            #expect(try peer.open(&said) == [2, 23])
            #expect(said.isEmpty)
        }
    }

    @Test("A server takes a new key by itself before it has used one too often")
    func exhaustion() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM, mostRecords: 3)
        for round in 0..<4 {
            for number in 0..<3 as Range<UInt8> {
                var said = try server.say([number], ciphers)
                if round > 0, number == 0 {
                    #expect(try peer.open(&said) == [24, 0, 0, 1, 0, 22])
                    try peer.advanceReceiving()
                }
                #expect(try peer.open(&said) == [number, 23])
            }
        }
    }

    @Test("An alert ends the stream in order, by force with its name, or says nothing")
    func alerts() throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        #expect(try server.take(peer.record([1, 90, 21]), ciphers)?.0 == .nothing)
        #expect(try server.take(peer.record([2, 0, 21]), ciphers)?.0 == .end)
        let end = violation(of: try peer.record([1, 42, 21]), by: server)
        #expect(end?.alert == nil)
        #expect(end?.sentence == "the peer ended the connection with the alert bad_certificate")
    }

    @Test(
        "Records without content are borne for a while, and content makes up for them",
        arguments: [[23], [1, 90, 21]] as [[UInt8]])
    func idleness(inside: [UInt8]) throws {
        let (peer, server) = try RecordPeer.pair(.aes128GCM)
        for _ in 0..<3 {
            for _ in 0..<RecordLayer.mostIdleRecords {
                #expect(try server.take(peer.record(inside), ciphers)?.0 == .nothing)
            }
            #expect(try server.take(peer.record([1, 23]), ciphers)?.1 == [1])
        }
        for _ in 0..<RecordLayer.mostIdleRecords { _ = try server.take(peer.record(inside), ciphers) }
        #expect(try violation(of: peer.record(inside), by: server)?.alert == .unexpectedMessage)
    }

    private func violation(of record: [UInt8], by server: ServerRecords) -> RecordViolation? {
        do throws(RecordViolation) {
            _ = try server.take(record, ciphers)
            return nil
        } catch {
            return error
        }
    }
}
