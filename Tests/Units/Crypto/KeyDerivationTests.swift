import CPostriderOpenSSL
import Glibc
import Testing

@testable import PostriderCrypto

@Suite("Keys that are derived", .serialized) struct KeyDerivationTests {
    /// Section 3 of RFC 8448, a handshake of one round trip with SHA-256: each secret from the one before it.
    @Test("The secrets of a handshake of RFC 8448 are derived to the byte, by our function and by OpenSSL's")
    func published() {
        let early = hex("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a")
        let shared = hex("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d")
        let handshake = hex("1dc826e93606aa6fdc0aadc12f741b01046aa6b99f691ed221a9f0ca043fbeac")
        let master = hex("18df06843d13a08bf2a449844c5f8a478001bc4d4c627984d5a41da8d0402919")
        let hello = hex("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8")
        let traffic = hex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21")
        for provider in Provider.allCases {
            #expect(provider.extract(nil, salt: nil) == early)
            #expect(provider.extract(shared, salt: early) == handshake)
            #expect(provider.extract(nil, salt: handshake) == master)
            #expect(provider.expand(handshake, "c hs traffic", hello, 32) == traffic)
            #expect(provider.expand(traffic, "key", nil, 16) == hex("dbfaa693d1762c5b666af5d950258d01"))
            #expect(provider.expand(traffic, "iv", nil, 12) == hex("5bd3c71b836e0b76bb73265f"))
        }
    }

    @Test("What our function derives is what OpenSSL's derives", arguments: ["SHA256", "SHA384"])
    func same(digest: String) {
        let bytes = digest == "SHA256" ? 32 : 48
        for round in 0..<64 {
            let secret = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 * 7 + round) }
            let hash = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 * 31 + round * 3) }
            let shared = (0..<round).map { UInt8(truncatingIfNeeded: $0 + round) }
            let label = String(repeating: "l", count: round * 249 / 63)
            for (material, salt) in [(shared, secret), (shared, nil), (nil, secret), (nil, nil)]
            where material?.isEmpty != true {
                #expect(
                    Provider.ours.extract(material, salt: salt, digest)
                        == Provider.theirs.extract(material, salt: salt, digest))
            }
            let count = 1 + round * (bytes - 1) / 63
            let ours = Provider.ours.expand(secret, label, hash, count, digest)
            #expect(ours?.count == count)
            #expect(ours == Provider.theirs.expand(secret, label, hash, count, digest))
        }
    }

    @Test("What is not of TLS 1.3 is not derived")
    func refusals() {
        let secret = [UInt8](repeating: 1, count: 32)
        #expect(Provider.ours.expand(secret, "key", nil, 33) == nil)
        #expect(Provider.ours.expand(secret, "key", nil, 16, "SHA512") == nil)
        #expect(Provider.ours.expand(secret + [1], "key", nil, 16) == nil)
        #expect(Provider.ours.expand(secret, "key", nil, 16, prefix: "dtls13") == nil)
        #expect(Provider.ours.expand(secret, String(repeating: "l", count: 250), nil, 16) == nil)
        #expect(Provider.ours.expand(secret, "key", secret + [1], 16) == nil)
        #expect(Provider.ours.extract(secret, salt: secret + [1]) == nil)
        #expect(Provider.ours.derive(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, [], "SHA256", "tls13 ", 32) == nil)
    }

    /// Whose function OpenSSL is asked for.
    enum Provider: CaseIterable {
        case ours
        case theirs

        func extract(_ material: [UInt8]?, salt: [UInt8]?, _ digest: String = "SHA256") -> [UInt8]? {
            derive(
                EVP_KDF_HKDF_MODE_EXTRACT_ONLY,
                [("key", material), ("salt", salt), ("label", Array("derived".utf8))],
                digest, "tls13 ", digest == "SHA256" ? 32 : 48)
        }

        func expand(
            _ secret: [UInt8], _ label: String, _ context: [UInt8]?, _ count: Int,
            _ digest: String = "SHA256",
            prefix: String = "tls13 "
        ) -> [UInt8]? {
            derive(
                EVP_KDF_HKDF_MODE_EXPAND_ONLY,
                [("key", secret), ("label", Array(label.utf8)), ("data", context)],
                digest, prefix, count)
        }

        func derive(
            _ mode: CInt, _ octets: [(name: String, bytes: [UInt8]?)], _ digest: String,
            _ prefix: String,
            _ count: Int
        ) -> [UInt8]? {
            precondition(KeyScheduleProvider.isKnown)
            let properties = self == .ours ? "provider=postrider" : "provider=default"
            let function = unsafe EVP_KDF_fetch(nil, OSSL_KDF_NAME_TLS1_3_KDF, properties)
            let context = unsafe EVP_KDF_CTX_new(function)
            unsafe EVP_KDF_free(function)
            let parameters = Parameters()
            unsafe parameters.add("mode", OSSL_PARAM_INTEGER, withUnsafeBytes(of: mode) { unsafe Array($0) })
            parameters.add("digest", OSSL_PARAM_UTF8_STRING, Array(digest.utf8))
            for (name, bytes) in octets + [("prefix", Array(prefix.utf8))] {
                if let bytes { parameters.add(name, OSSL_PARAM_OCTET_STRING, bytes) }
            }
            defer {
                unsafe EVP_KDF_CTX_free(context)
                ErrorQueue.clear()
            }
            var output = [UInt8](repeating: 0, count: count)
            let isDone = unsafe EVP_KDF_derive(context, &output, count, parameters.list + [OSSL_PARAM()]) == 1
            return isDone ? output : nil
        }
    }

    /// What OpenSSL is asked with: pointers to names and values, which are kept here.
    @safe private final class Parameters {
        private(set) var list = unsafe [OSSL_PARAM]()

        deinit {
            unsafe list.forEach { parameter in
                unsafe free(UnsafeMutableRawPointer(mutating: parameter.key))
                unsafe free(parameter.data)
            }
        }

        func add(_ name: String, _ kind: CInt, _ value: [UInt8]) {
            // With a zero behind it, where a text may be looked for it.
            let data = unsafe calloc(value.count + 1, 1)
            unsafe data?.copyMemory(from: value, byteCount: value.count)
            unsafe list.append(
                OSSL_PARAM(
                    key: strdup(name), data_type: UInt32(kind), data: data, data_size: value.count,
                    return_size: 0))
        }
    }
}
