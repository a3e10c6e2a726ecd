import PostriderCrypto
import Testing

@Suite("Certificates") struct CertificatesTests {
    @Test("Names that are none are refused, also those that would smuggle in another name")
    func badNames() throws {
        let authority = try Certificates.makeAuthority(commonName: "CA", validDays: 1)
        func issue(_ commonName: String, _ dnsNames: [String], _ ipAddresses: [String]) throws {
            _ = try Certificates.issue(
                commonName: commonName, dnsNames: dnsNames, ipAddresses: ipAddresses, usage: .server,
                validDays: 1,
                authority: authority)
        }
        try issue("relay", ["*.example.com", "a-1.example"], ["10.0.0.1", "fe80::1"])
        for name in ["", "a,DNS:b", "a b", "a\0b", "ä.example"] {
            #expect(throws: CryptoError.self) { try issue("relay", [name], []) }
        }
        for address in ["", "localhost", "10.0.0.256", "10.0.0.1,DNS:b"] {
            #expect(throws: CryptoError.self) { try issue("relay", [], [address]) }
        }
        for name in ["", String(repeating: "n", count: 65)] {
            #expect(throws: CryptoError.self) { try issue(name, [], []) }
        }
    }

    @Test("Only an authority whose key is that of its certificate issues anything")
    func badAuthority() throws {
        let one = try Certificates.makeAuthority(commonName: "CA", validDays: 1)
        let two = try Certificates.makeAuthority(commonName: "CA", validDays: 1)
        let pairs = [(one.certificate, two.key), ("", one.key), (one.certificate, "")]
        for (certificate, key) in pairs {
            #expect(throws: CryptoError.self) {
                _ = try Certificates.issue(
                    commonName: "relay", usage: .server, validDays: 1,
                    authority: Certificates.Issued(certificate: certificate, key: key))
            }
        }
    }

    @Test("A successor has the subject and the extensions, and another key, number and end")
    func renewal() throws {
        let authority = try Certificates.makeAuthority(commonName: "CA", validDays: 10)
        let old = try Certificates.issue(
            commonName: "relay", userIdentifier: "com.example.app", dnsNames: ["relay.example.net"],
            ipAddresses: ["10.0.0.1"],
            extensions: [.init(identifier: "1.2.840.113635.100.6.3.1", der: [5, 0])],
            usage: .server, validDays: 1, authority: authority)
        let new = try Certificates.renew(old.certificate, validDays: 3, authority: authority)
        #expect(new.key != old.key)
        let before = try #require(CertificateDetails(pem: old.certificate))
        let after = try #require(CertificateDetails(pem: new.certificate))
        #expect(after.commonName == "relay" && after.userIdentifier == "com.example.app")
        #expect(after.alternativeNames == "relay.example.net, 10.0.0.1")
        #expect(after.fingerprint != before.fingerprint)
        #expect(after.validUntil - after.validFrom == 3 * 86_400 + 3600)
        // All but the identifier of the key.
        func others(_ details: CertificateDetails) -> [CertificateDetails.Extension] {
            details.extensions.filter { $0.identifier != "2.5.29.14" }
                .sorted { $0.identifier < $1.identifier }
        }
        #expect(others(after) == others(before) && others(after).count == after.extensions.count - 1)
    }

    @Test("An authority's successor has its key and name, and nothing is renewed with another's key")
    func authorityRenewal() throws {
        let old = try Certificates.makeAuthority(commonName: "CA", validDays: 1)
        let new = try Certificates.renewAuthority(old, validDays: 5)
        #expect(new.key == old.key && new.certificate != old.certificate)
        let issued = try Certificates.issue(
            commonName: "relay", usage: .server, validDays: 1, authority: new)
        let stranger = try Certificates.makeAuthority(commonName: "CA", validDays: 1)
        let mixed = Certificates.Issued(certificate: new.certificate, key: stranger.key)
        #expect(throws: CryptoError.self) { try Certificates.renewAuthority(mixed, validDays: 1) }
        #expect(throws: CryptoError.self) {
            try Certificates.renew(issued.certificate, validDays: 1, authority: mixed)
        }
        #expect(throws: CryptoError.self) { try Certificates.renew("", validDays: 1, authority: new) }
    }

    @Test("A certificate outlives the year 2038 if it has to")
    func longLife() throws {
        _ = try Certificates.makeAuthority(commonName: "CA", validDays: 36_500)
    }
}
