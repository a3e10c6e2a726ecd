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

    @Test("A certificate outlives the year 2038 if it has to")
    func longLife() throws {
        _ = try Certificates.makeAuthority(commonName: "CA", validDays: 36_500)
    }
}
