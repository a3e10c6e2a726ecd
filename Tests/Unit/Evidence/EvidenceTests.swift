import Foundation
import PostriderCrypto
import Testing

@testable import PostriderEvidence

@Suite("Evidence")
struct EvidenceTests {
    private static let key = ES256.PrivateKey.generate()

    private static var statement: EvidenceStatement {
        var push = EvidenceStatement.Push(
            apnsID: "6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D", acceptedAt: EvidenceStatement.time(1_000),
            provider: "key KEY1234567", topic: "com.example.app", environment: "production")
        push.payloadSHA256 = String(repeating: "ab", count: 32)
        push.device = EvidenceStatement.Device(
            identity: "0123456789abcdef01234567", name: "kiosk-7",
            tokenSHA256: String(repeating: "cd", count: 32))
        push.steps = [
            EvidenceStatement.Step(
                at: EvidenceStatement.time(1_250), what: "done", meaning: "The handler is done.",
                saidBy: "device",
                deviceAt: EvidenceStatement.time(1_240), text: "Grüße/…\u{1B}[2J\n.")
        ]
        return EvidenceStatement(
            relay: EvidenceStatement.Relay(name: "relay.example.com"),
            signedAt: EvidenceStatement.time(2_000),
            pushes: [push], remarks: ["Steps may be missing."])
    }

    private static func error(_ text: String, _ key: ES256.PublicKey = Self.key.publicKey) -> EvidenceError? {
        do throws(EvidenceError) {
            _ = try Evidence(text, verifiedWith: key)
            return nil
        } catch {
            return error
        }
    }

    @Test("says what was signed, to whoever has the public key")
    func roundTrip() throws {
        let evidence = Evidence(Self.statement, signedBy: Self.key)
        for end in ["", "\n", "\r\n", "\n\n"] {
            let read = try Evidence(evidence.text + end, verifiedWith: Self.key.publicKey)
            #expect(read.statement == Self.statement)
            #expect(read.text == evidence.text)
        }
    }

    @Test("is a JSON document, and below it one line with a detached signature")
    func form() throws {
        let text = Evidence(Self.statement, signedBy: Self.key).text
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let document = try JSONSerialization.jsonObject(
            with: Data(lines.dropLast().joined(separator: "\n").utf8))
        let members = try #require(document as? [String: Any])
        #expect(members["format"] as? String == "postrider-evidence-1")
        #expect(members["signedAt"] as? String == "1970-01-01T00:00:02.000Z")
        let signature = try #require(lines.last)
        #expect(signature.contains(#/^[A-Za-z0-9_\-]+\.\.[A-Za-z0-9_\-]{86}$/#))
        #expect(text.contains("\"name\" : \"kiosk-7\""), "a human can read it")
    }

    @Test("in which any byte was changed, left out or added proves nothing")
    func tampering() {
        let bytes = Array(Evidence(Self.statement, signedBy: Self.key).text.utf8)
        for place in bytes.indices {
            // The last character of base64 may have bits that stand for nothing: another character there is the same
            // signature in another spelling.
            guard place != bytes.count - 1 else { continue }
            var changed = bytes
            changed[place] ^= 1
            #expect(Self.error(String(decoding: changed, as: UTF8.self)) != nil, "byte \(place) changed")
            var shorter = bytes
            shorter.remove(at: place)
            #expect(Self.error(String(decoding: shorter, as: UTF8.self)) != nil, "byte \(place) left out")
            var longer = bytes
            longer.insert(UInt8(ascii: " "), at: place)
            #expect(
                Self.error(String(decoding: longer, as: UTF8.self)) != nil, "a space before byte \(place)")
        }
    }

    @Test("that is cut anywhere proves nothing")
    func truncation() {
        let bytes = Array(Evidence(Self.statement, signedBy: Self.key).text.utf8)
        for count in 0..<bytes.count {
            #expect(Self.error(String(decoding: bytes[..<count], as: UTF8.self)) != nil, "\(count) bytes")
        }
    }

    @Test("names the key that has signed it, if that is not the given one")
    func keys() {
        let other = ES256.PrivateKey.generate().publicKey
        let text = Evidence(Self.statement, signedBy: Self.key).text
        #expect(
            Self.error(text, other)
                == .anotherKey(
                    signed: Self.key.publicKey.fingerprint.description, given: other.fingerprint.description))
    }

    @Test(
        "with a header that it does not write itself is refused",
        arguments: [
            #"{"alg":"none","b64":false,"crit":["b64"],"kid":"KEY"}"#,
            #"{"alg":"HS256","b64":false,"crit":["b64"],"kid":"KEY"}"#,
            #"{"alg":"ES256","b64":true,"crit":["b64"],"kid":"KEY"}"#,
            #"{"alg":"ES256","b64":false,"crit":["b64","exp"],"kid":"KEY"}"#,
            #"{"alg":"ES256","b64":false,"crit":[],"kid":"KEY"}"#,
        ])
    func headers(_ header: String) {
        let header = header.replacing("KEY", with: Self.key.publicKey.fingerprint.description)
        #expect(Self.error(Self.signed("{}\n", header)) == .unknownAlgorithm)
    }

    @Test("whose statement is of another version is told apart from one that was changed")
    func versions() {
        let header = #"{"alg":"ES256","b64":false,"crit":["b64"],"kid":"KEY"}"#
            .replacing("KEY", with: Self.key.publicKey.fingerprint.description)
        #expect(Self.error(Self.signed("{}\n", header)) == .unknownFormat)
        let json = Evidence(Self.statement, signedBy: Self.key).text.split(separator: "\n").dropLast()
        let next = json.joined(separator: "\n").replacing("evidence-1", with: "evidence-2") + "\n"
        #expect(Self.error(Self.signed(next, header)) == .unknownFormat)
    }

    @Test(
        "is no other text",
        arguments: [
            "", "\n", "\n\n", "a..b", "{}\n", "{}\na.b", "{}\na.b.c", "{}\n..", "{}\n!!..!!", "\u{0}\n\u{0}",
        ])
    func strangers(_ text: String) {
        #expect(Self.error(text) == .notEvidence)
    }

    @Test("writes times in UTC with milliseconds")
    func times() {
        #expect(EvidenceStatement.time(0) == "1970-01-01T00:00:00.000Z")
        #expect(EvidenceStatement.time(1_795_664_400_007) == "2026-11-26T03:40:00.007Z")
        #expect(EvidenceStatement.time(-1) == "1969-12-31T23:59:59.999Z")
    }

    /// What the key signs of any header and payload.
    private static func signed(_ payload: String, _ header: String) -> String {
        func text(_ data: Data) -> String {
            data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }
        let head = text(Data(header.utf8))
        let signature = key.signature(for: Array("\(head).\(payload)".utf8).span)
        return "\(payload)\(head)..\(text(Data(signature)))"
    }
}
