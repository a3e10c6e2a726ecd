internal import CPostriderCrypto

/// A certificate authority for development and the certificates that it issues: P-256, X.509 version 3.
///
/// Everything is returned as PEM text and nothing is stored; the caller decides where to store a private key.
public enum Certificates {
    /// A certificate and its private key (PKCS#8, no passphrase), both PEM.
    public struct Issued: Sendable {
        /// The certificate.
        public let certificate: String
        /// The private key.
        public let key: String

        /// Creates the pair from PEM text, for an authority that was stored in files.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The kind of a certificate's key.
    public enum KeyKind: Sendable {
        /// ECDSA on the curve P-256, which is the default.
        case p256
        /// RSA with 2,048 bits, for client libraries that load no other (apnotic).
        case rsa2048
    }

    /// What a certificate is for.
    public enum Usage: Sendable {
        /// It authenticates a server to its clients.
        case server
        /// It authenticates a client to a server that requests it.
        case client
        /// It authenticates a node of a cluster in both roles.
        case node
    }

    /// Makes a new authority: a self-signed certificate that may sign leaf certificates and no further authorities.
    public static func makeAuthority(commonName: String, validDays: Int) throws(CryptoError) -> Issued {
        let key = Key.generate()
        let certificate = try Draft(
            key: key, commonName: commonName, userIdentifier: nil, validDays: validDays)
        unsafe X509_set_issuer_name(certificate.pointer, X509_get_subject_name(certificate.pointer))
        try unsafe certificate.extend(
            NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: certificate.pointer)
        try unsafe certificate.extend(
            NID_key_usage, "critical,keyCertSign,cRLSign", issuer: certificate.pointer)
        try unsafe certificate.extend(NID_subject_key_identifier, "hash", issuer: certificate.pointer)
        return certificate.signed(with: key, key: key)
    }

    /// Makes a new key and a certificate for it.
    ///
    /// - Parameters:
    ///   - commonName: the CN of the subject, 1 to 64 characters.
    ///   - userIdentifier: the UID of the subject, which is the topic in a provider's certificate; nil for none.
    ///   - dnsNames: host names of a server; letters, digits, `.`, `-` and `*`.
    ///   - ipAddresses: IPv4 or IPv6 addresses of a server, as text.
    ///   - extensions: further extensions, not critical, such as Apple's in a provider's certificate.
    ///   - usage: what it is for.
    ///   - keyKind: the kind of the new key.
    ///   - validDays: the validity in days, counted from an hour ago.
    ///   - authority: the authority that signs it.
    /// - Throws: a sentence that names the invalid argument.
    public static func issue(
        commonName: String, userIdentifier: String? = nil, dnsNames: [String] = [],
        ipAddresses: [String] = [], extensions: [CertificateDetails.Extension] = [],
        usage: Usage, keyKind: KeyKind = .p256, validDays: Int, authority: Issued
    ) throws(CryptoError) -> Issued {
        let authority = try Authority(authority)
        let issuer = unsafe authority.certificate.pointer
        let key = Key.generate(keyKind)
        let certificate = try Draft(
            key: key, commonName: commonName, userIdentifier: userIdentifier, validDays: validDays)
        unsafe X509_set_issuer_name(certificate.pointer, X509_get_subject_name(issuer))
        let purpose =
            switch usage {
            case .server: "serverAuth"
            case .client: "clientAuth"
            case .node: "serverAuth,clientAuth"
            }
        try unsafe certificate.extend(NID_basic_constraints, "critical,CA:FALSE", issuer: issuer)
        try unsafe certificate.extend(NID_key_usage, "critical,digitalSignature", issuer: issuer)
        try unsafe certificate.extend(NID_ext_key_usage, purpose, issuer: issuer)
        try unsafe certificate.extend(NID_subject_key_identifier, "hash", issuer: issuer)
        try unsafe certificate.extend(NID_authority_key_identifier, "keyid:always", issuer: issuer)
        let names = try alternativeNames(dnsNames, ipAddresses)
        if !names.isEmpty { try unsafe certificate.extend(NID_subject_alt_name, names, issuer: issuer) }
        for entry in extensions { try certificate.extend(entry.identifier, entry.der) }
        return certificate.signed(with: authority.key, key: key)
    }

    /// Makes the successor of a certificate: with its subject, its extensions and its issuer, and a new key.
    ///
    /// - Parameters:
    ///   - certificate: the certificate in PEM, which may have expired.
    ///   - keyKind: the kind of the new key.
    ///   - validDays: the validity in days, counted from an hour ago.
    ///   - authority: the authority that signs it.
    public static func renew(
        _ certificate: String, keyKind: KeyKind = .p256, validDays: Int, authority: Issued
    ) throws(CryptoError) -> Issued {
        let authority = try Authority(authority)
        let key = Key.generate(keyKind)
        let renewed = try Draft(copyOf: certificate, named: "The certificate")
        unsafe X509_set_issuer_name(renewed.pointer, X509_get_subject_name(authority.certificate.pointer))
        unsafe X509_set_pubkey(renewed.pointer, key.pointer)
        try renewed.begin(validDays: validDays)
        try renewed.replace(NID_subject_key_identifier, "hash", issuer: authority.certificate)
        try renewed.replace(
            NID_authority_key_identifier, "keyid:always", issuer: authority.certificate)
        return renewed.signed(with: authority.key, key: key)
    }

    /// Makes a copy of a certificate, for the same key, that expired a day ago: for tests of clients.
    ///
    /// - Parameters:
    ///   - certificate: the certificate in PEM.
    ///   - authority: the authority that has signed it.
    /// - Returns: the copy in PEM.
    public static func makeExpired(
        copyOf certificate: String, authority: Issued
    ) throws(CryptoError) -> String {
        let authority = try Authority(authority)
        let expired = try Draft(copyOf: certificate, named: "The certificate")
        try expired.begin(validDays: 1)
        unsafe X509_time_adj_ex(X509_getm_notBefore(expired.pointer), -30, 0, nil)
        unsafe X509_time_adj_ex(X509_getm_notAfter(expired.pointer), -1, 0, nil)
        return expired.text(signedBy: authority.key)
    }

    /// Makes the successor of an authority: the same key and name, so that what it has signed stays valid with either
    /// certificate.
    public static func renewAuthority(
        _ authority: Issued, validDays: Int
    ) throws(CryptoError) -> Issued {
        let authority = try Authority(authority)
        try authority.certificate.begin(validDays: validDays)
        return authority.renewed()
    }

    /// The names in OpenSSL's notation, in which a comma separates names.
    private static func alternativeNames(
        _ dnsNames: [String], _ ipAddresses: [String]
    ) throws(CryptoError) -> String {
        for name in dnsNames {
            let isName = name.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E: true
                default: false
                }
            }
            guard isName, !name.isEmpty else { throw CryptoError(.local, "\"\(name)\" is not a host name") }
        }
        for address in ipAddresses {
            guard let octets = unsafe a2i_IPADDRESS(address) else {
                throw CryptoError(.local, "\"\(address)\" is not an IP address")
            }
            unsafe ASN1_OCTET_STRING_free(octets)
        }
        return (dnsNames.map { "DNS:" + $0 } + ipAddresses.map { "IP:" + $0 }).joined(separator: ",")
    }
}

/// An authority's certificate, and the key that signs for it.
private struct Authority: ~Copyable {
    let certificate: Draft
    let key: Key

    /// - Throws: a sentence that says which of the two cannot be used, or that they do not belong together.
    init(_ issued: Certificates.Issued) throws(CryptoError) {
        let key = try Key.privateKey(pem: issued.key, name: "The authority's key")
        let certificate = try Draft(copyOf: issued.certificate, named: "The authority's certificate")
        guard unsafe X509_check_private_key(certificate.pointer, key.pointer) == 1 else {
            throw .local("The authority's key is not the one of its certificate")
        }
        self.certificate = certificate
        self.key = key
    }

    /// Signs the authority's certificate with its own key.
    consuming func renewed() -> Certificates.Issued { certificate.signed(with: key, key: key) }
}

/// The owner of an `X509` that is being filled in.
@safe private struct Draft: ~Copyable {
    let pointer: OpaquePointer

    init(
        key: Key, commonName: String, userIdentifier: String?, validDays: Int
    ) throws(CryptoError) {
        guard let pointer = unsafe X509_new() else { preconditionFailure("out of memory") }
        unsafe self.pointer = pointer
        unsafe X509_set_version(pointer, CLong(X509_VERSION_3))
        unsafe X509_set_pubkey(pointer, key.pointer)
        try begin(validDays: validDays)
        try name("CN", commonName)
        if let userIdentifier { try name("UID", userIdentifier) }
    }

    /// Copies a certificate in PEM. Errors call it `name`.
    init(copyOf certificate: String, named name: String) throws(CryptoError) {
        let text = MemoryBIO(certificate)
        ErrorQueue.clear()
        guard let pointer = unsafe PEM_read_bio_X509(text.pointer, nil, nil, nil) else {
            throw .local("\(name) is no certificate in PEM")
        }
        unsafe self.pointer = pointer
    }

    /// Sets the validity, and draws a serial number.
    borrowing func begin(validDays: Int) throws(CryptoError) {
        precondition(validDays > 0, "a certificate lives for a while")
        unsafe X509_gmtime_adj(X509_getm_notBefore(pointer), -3600)
        unsafe X509_time_adj_ex(X509_getm_notAfter(pointer), CInt(clamping: validDays), 0, nil)
        // A serial number has at most 20 bytes, is positive (RFC 5280, section 4.1.2.2), and must be unpredictable.
        let number = unsafe BN_new()
        defer { unsafe BN_free(number) }
        guard unsafe BN_rand(number, 152, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1,
            unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil
        else { throw .local("A serial number cannot be drawn") }
    }

    deinit { unsafe X509_free(pointer) }

    /// Adds an entry to the subject.
    private borrowing func name(_ kind: String, _ text: String) throws(CryptoError) {
        var text = text
        ErrorQueue.clear()
        let status = text.withUTF8 {
            unsafe X509_NAME_add_entry_by_txt(
                X509_get_subject_name(pointer), kind, MBSTRING_UTF8, $0.baseAddress, CInt($0.count), -1, 0)
        }
        guard status == 1 else { throw .local("\"\(text)\" cannot be a certificate's \(kind)") }
    }

    /// Adds an extension in OpenSSL's notation.
    borrowing func extend(_ kind: CInt, _ value: String, issuer: OpaquePointer) throws(CryptoError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
        ErrorQueue.clear()
        guard let entry = unsafe X509V3_EXT_conf_nid(nil, &context, kind, value) else {
            throw .local("A certificate cannot have \(value)")
        }
        defer { unsafe X509_EXTENSION_free(entry) }
        let status = unsafe X509_add_ext(pointer, entry, -1)
        precondition(status == 1, "out of memory")
    }

    /// Puts an extension in OpenSSL's notation in the place of one of the same kind.
    borrowing func replace(_ kind: CInt, _ value: String, issuer: borrowing Draft) throws(CryptoError) {
        let index = unsafe X509_get_ext_by_NID(pointer, kind, -1)
        if index >= 0 { unsafe X509_EXTENSION_free(X509_delete_ext(pointer, index)) }
        try unsafe extend(kind, value, issuer: issuer.pointer)
    }

    /// Adds an extension that OpenSSL does not know, not critical.
    borrowing func extend(_ identifier: String, _ der: [UInt8]) throws(CryptoError) {
        let digits = der.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        ErrorQueue.clear()
        guard let entry = unsafe X509V3_EXT_nconf(nil, nil, identifier, "DER:" + digits) else {
            throw .local("A certificate cannot have the extension \(identifier)")
        }
        defer { unsafe X509_EXTENSION_free(entry) }
        let status = unsafe X509_add_ext(pointer, entry, -1)
        precondition(status == 1, "out of memory")
    }

    /// Signs the certificate and returns it with its key.
    consuming func signed(with signer: Key, key: Key) -> Certificates.Issued {
        Certificates.Issued(certificate: text(signedBy: signer), key: key.privatePEM)
    }

    /// Signs the certificate and returns it in PEM.
    borrowing func text(signedBy signer: Key) -> String {
        let size = unsafe X509_sign(pointer, signer.pointer, EVP_sha256())
        precondition(size > 0, "a P-256 key can sign")
        let text = MemoryBIO()
        let status = unsafe PEM_write_bio_X509(text.pointer, pointer)
        precondition(status == 1, "out of memory")
        return text.takeText()
    }
}
