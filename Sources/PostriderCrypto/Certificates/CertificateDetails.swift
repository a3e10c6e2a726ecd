internal import CPostriderCrypto
internal import Glibc

/// The subject and the extensions of an X.509 certificate.
public struct CertificateDetails: Equatable, Sendable {
    /// An extension of a certificate.
    public struct Extension: Equatable, Sendable {
        /// The object identifier of the extension: numbers with dots between.
        public let identifier: String
        /// The value of the extension in DER.
        public let der: [UInt8]

        /// Creates an extension from its parts.
        public init(identifier: String, der: [UInt8]) {
            self.identifier = identifier
            self.der = der
        }
    }

    /// The first UID of the subject, which is the topic in a provider's certificate; nil if there is none.
    public let userIdentifier: String?
    /// The first common name of the subject; nil if there is none.
    public let commonName: String?
    /// The first second in which it is valid, since 1970.
    public let validFrom: Int64
    /// The last second in which it is valid, since 1970.
    public let validUntil: Int64
    /// Host names and IP addresses of the subject, for people to read.
    public let alternativeNames: String
    /// SHA-256 of the whole certificate (DER).
    public let fingerprint: SHA256Digest
    /// The extensions in their order, including unknown ones.
    public let extensions: [Extension]

    /// Reads a certificate in DER; nil if the bytes are not a certificate.
    public init?(der: [UInt8]) {
        ErrorQueue.clear()
        let certificate = unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_X509(nil, &start, bytes.count)
        }
        guard let certificate = unsafe certificate else {
            ErrorQueue.clear()
            return nil
        }
        defer { unsafe X509_free(certificate) }
        unsafe self.init(reading: certificate)
    }

    /// Reads a certificate in PEM; nil if the text contains none.
    public init?(pem: String) {
        let text = MemoryBIO(pem)
        guard let certificate = unsafe PEM_read_bio_X509(text.pointer, nil, nil, nil) else {
            ErrorQueue.clear()
            return nil
        }
        defer { unsafe X509_free(certificate) }
        unsafe self.init(reading: certificate)
    }

    /// Reads an `X509`, which the caller still owns.
    private init(reading certificate: OpaquePointer) {
        var words = SIMD4<UInt64>()
        let status = unsafe withUnsafeMutableBytes(of: &words) { output in
            let start = unsafe output.bindMemory(to: UInt8.self).baseAddress
            return unsafe X509_digest(certificate, SHA256.algorithm.pointer, start, nil)
        }
        precondition(status == 1, "a parsed certificate has a digest")
        fingerprint = SHA256Digest(words: words)
        validFrom = unsafe Self.seconds(X509_get0_notBefore(certificate))
        validUntil = unsafe Self.seconds(X509_get0_notAfter(certificate))
        alternativeNames = unsafe Self.alternativeNames(of: certificate)
        let subject = unsafe X509_get_subject_name(certificate)
        unsafe userIdentifier = Self.firstEntry(of: subject, NID_userId)
        unsafe commonName = Self.firstEntry(of: subject, NID_commonName)
        extensions = unsafe (0..<max(0, X509_get_ext_count(certificate))).compactMap { index in
            unsafe Self.read(X509_get_ext(certificate, index))
        }
    }

    private static func read(_ entry: OpaquePointer?) -> Extension? {
        var name = [CChar](repeating: 0, count: 128)
        // The argument 1 makes OpenSSL write numbers, even if it has a name for the extension.
        let count = unsafe OBJ_obj2txt(&name, CInt(name.count), X509_EXTENSION_get_object(entry), 1)
        guard 0..<CInt(name.count) ~= count, let data = unsafe X509_EXTENSION_get_data(entry),
            let start = unsafe ASN1_STRING_get0_data(data)
        else { return nil }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(data)))
        let identifier = String(decoding: name[..<Int(count)].map(UInt8.init), as: UTF8.self)
        return unsafe Extension(identifier: identifier, der: Array(bytes))
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = unsafe tm()
        // A certificate with another notation is parsed, too, and is not valid at any time.
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return unsafe Int64(timegm(&parts))
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> String {
        let index = unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)
        guard index >= 0 else { return "" }
        let text = MemoryBIO()
        guard unsafe X509V3_EXT_print(text.pointer, X509_get_ext(certificate, index), 0, 0) == 1 else {
            ErrorQueue.clear()
            return ""
        }
        return text.takeText().replacing("DNS:", with: "").replacing("IP Address:", with: "")
    }

    /// The first entry of a kind as text; nil if there is none, or if it contains a zero byte, which some readers
    /// would take for its end.
    private static func firstEntry(of name: OpaquePointer?, _ kind: CInt) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, kind, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
        guard count >= 0, let start = unsafe text else { return nil }
        defer { unsafe CRYPTO_free(start, #fileID, #line) }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(count))
        return unsafe bytes.contains(0) ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
