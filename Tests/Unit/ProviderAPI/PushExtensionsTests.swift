import Foundation
import PostriderCrypto
import RelayFixtures
import Testing

@testable import PostriderProviderAPI

@Suite("Apple's extensions in a certificate") struct PushExtensionsTests {
    private static func extensions(
        _ topics: [String] = [], voip: [String] = [], development: Bool = false, production: Bool = false
    ) -> PushExtensions {
        var extensions = PushExtensions()
        extensions.topics = topics
        extensions.voipTopics = voip
        extensions.isForDevelopment = development
        extensions.isForProduction = production
        return extensions
    }

    static let issued = [
        extensions(), extensions(development: true), extensions(production: true),
        extensions(["com.example.app"], development: true, production: true),
        extensions(["com.example.app", "com.example.app.voip", "com.example.app.complication", "ü"]),
        extensions([], voip: ["com.example.app.voip"], production: true),
        extensions((0..<300).map { "com.example.app\($0)" }, voip: [String(repeating: "v", count: 255)]),
    ]

    @Test("are read from what a handshake reports, and from PEM, as they were issued", arguments: issued)
    func roundTrip(_ extensions: PushExtensions) throws {
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let issued = try Certificates.issue(
            commonName: "provider", userIdentifier: "com.example.app", extensions: extensions.encoded,
            usage: .client, validDays: 1, authority: authority)
        #expect(PushExtensions(certificate: issued.certificate) == extensions)
        let bytes = try #require(der(ofPEM: issued.certificate))
        let shown = ProviderCertificate(der: bytes, isVerified: true)
        #expect(shown.isVerified && shown.extensions == extensions)
        #expect(shown.userIdentifier == "com.example.app")
        // The extensions of an untrusted certificate are ignored.
        let strange = ProviderCertificate(der: bytes, isVerified: false)
        #expect(!strange.isVerified && strange.extensions == nil && strange.userIdentifier == nil)
    }

    @Test("are malformed where one is there twice")
    func twice() throws {
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let entry = try #require(Self.extensions(production: true).encoded.first)
        let issued = try Certificates.issue(
            commonName: "provider", extensions: [entry, entry], usage: .client, validDays: 1,
            authority: authority)
        #expect(CertificateDetails(pem: issued.certificate)?.extensions.count { $0 == entry } == 2)
        #expect(PushExtensions(certificate: issued.certificate) == nil)
    }

    @Test("are not there in what is no certificate", arguments: ["", "hello"])
    func noCertificate(_ text: String) {
        #expect(PushExtensions(certificate: text) == nil)
    }

    /// The text "a" and the sequence with the label "app", in DER.
    static let topic: [UInt8] = [12, 1, 0x61]
    static let label: [UInt8] = [0x30, 5, 12, 3, 0x61, 0x70, 0x70]

    static let lists: [(name: String, bytes: [UInt8], topics: [String]?)] = [
        ("empty list", [0x30, 0], []), ("one topic", [0x30, 10] + topic + label, ["a"]),
        ("no label", [0x30, 5] + topic + [0x30, 0], ["a"]),
        ("several labels", [0x30, 11] + topic + [0x30, 6] + topic + topic, ["a"]),
        ("two topics", [0x30, 20] + topic + label + topic + label, ["a", "a"]),
        ("length in two bytes", [0x30, 0x81, 10] + topic + label, ["a"]),
        ("nothing", [], nil), ("a tag only", [0x30], nil), ("no sequence", topic, nil),
        ("a set", [0x31, 10] + topic + label, nil), ("a byte after it", [0x30, 0, 0], nil),
        ("a topic without its labels", [0x30, 3] + topic, nil),
        ("labels without a topic", [0x30, 7] + label, nil),
        ("a text for the labels", [0x30, 6] + topic + topic, nil),
        ("a number for a label", [0x30, 8] + topic + [0x30, 3, 2, 1, 5], nil),
        ("another kind of text", [0x30, 10, 22, 1, 0x61] + label, nil),
        ("a text that is constructed", [0x30, 10, 0x2C, 1, 0x61] + label, nil),
        ("a tag of another class", [0x30, 10, 0x8C, 1, 0x61] + label, nil),
        ("no UTF-8", [0x30, 10, 12, 1, 0xFF] + label, nil),
        ("an indefinite length", [0x30, 0x80] + topic + label + [0, 0], nil),
        ("cut", [0x30, 10] + topic + label.dropLast(), nil),
        ("a length that is too long", [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF] + topic, nil),
        ("an element that is longer than its list", [0x30, 3, 12, 9, 0x61] + label, nil),
    ]

    @Test("list topics with their labels; what is malformed lists nothing", arguments: lists)
    func topics(name: String, bytes: [UInt8], topics: [String]?) {
        #expect(PushExtensions.topics(inDER: bytes) == topics, "\(name)")
    }
}
