internal import CPostriderCrypto

/// What Apple's own extensions say in a provider's certificate ("Establishing a certificate-based connection to
/// APNs"); their object identifiers are 1.2.840.113635.100.6.3 and one number.
public struct PushExtensions: Equatable, Sendable {
    /// Whether it is good in the development environment (…1).
    public var isForDevelopment = false
    /// Whether it is good in the production environment (…2). A certificate for both is called universal.
    public var isForProduction = false
    /// The topics that it lists (…6).
    public var topics: [String] = []
    /// The topics that a VoIP services certificate lists (…4).
    public var voipTopics: [String] = []

    /// Those of a certificate that has none.
    public init() {}

    /// Those of a certificate in PEM; nil where the text holds none, or the extensions are malformed.
    public init?(certificate pem: String) {
        let text = MemoryBIO(pem)
        guard let certificate = unsafe PEM_read_bio_X509(text.pointer, nil, nil, nil) else {
            ErrorQueue.clear()
            return nil
        }
        defer { unsafe X509_free(certificate) }
        unsafe self.init(reading: certificate)
    }

    /// Those of an `X509`, which stays the caller's; nil where they are malformed. OpenSSL bounds what a peer may
    /// send as its certificate, at 100 KiB.
    init?(reading certificate: OpaquePointer) {
        for kind in Kind.allCases {
            guard let value = unsafe kind.value(in: certificate) else { return nil }
            guard let value else { continue }
            switch kind {
            case .development: isForDevelopment = true
            case .production: isForProduction = true
            case .topics, .voipTopics:
                guard let listed = Self.topics(inDER: value) else { return nil }
                if kind == .topics { topics = listed } else { voipTopics = listed }
            }
        }
    }

    /// One of the extensions; the raw value is the last number of its object identifier.
    enum Kind: Int, CaseIterable {
        case development = 1
        case production = 2
        case voipTopics = 4
        case topics = 6

        /// The object identifier as OpenSSL writes it.
        var identifier: String { "1.2.840.113635.100.6.3.\(rawValue)" }

        /// The bytes of this extension: nil inside where there is none, nil where it is there twice.
        fileprivate func value(in certificate: OpaquePointer) -> [UInt8]?? {
            guard let object = unsafe OBJ_txt2obj(identifier, 1) else { preconditionFailure("out of memory") }
            defer { unsafe ASN1_OBJECT_free(object) }
            let index = unsafe X509_get_ext_by_OBJ(certificate, object, -1)
            guard index >= 0 else { return .some(nil) }
            guard unsafe X509_get_ext_by_OBJ(certificate, object, index) < 0,
                let data = unsafe X509_EXTENSION_get_data(X509_get_ext(certificate, index)),
                let start = unsafe ASN1_STRING_get0_data(data)
            else { return nil }
            let count = unsafe Int(ASN1_STRING_length(data))
            return unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
        }
    }

    /// A list of topics: a SEQUENCE in which each topic, a UTF8String, is followed by the SEQUENCE of its labels
    /// (`app`, `voip`, `complication`), UTF8Strings too. Nil for anything else.
    static func topics(inDER bytes: [UInt8]) -> [String]? {
        guard let list = Element(bytes[...]), list.kind == .sequence, list.rest.isEmpty else { return nil }
        var topics: [String] = []
        var rest = list.content
        while !rest.isEmpty {
            guard let topic = Element(rest)?.text, let labels = Element(topic.rest), labels.kind == .sequence
            else { return nil }
            var label = labels.content
            while !label.isEmpty {
                guard let text = Element(label)?.text else { return nil }
                label = text.rest
            }
            topics.append(topic.value)
            rest = labels.rest
        }
        return topics
    }

    /// The DER of the extensions, as a certificate is to have them: with the identifier of each.
    var encoded: [(identifier: String, der: [UInt8])] {
        var encoded: [(identifier: String, der: [UInt8])] = []
        let null: [UInt8] = [UInt8(V_ASN1_NULL), 0]
        if isForDevelopment { encoded.append((Kind.development.identifier, null)) }
        if isForProduction { encoded.append((Kind.production.identifier, null)) }
        for (kind, topics) in [(Kind.topics, topics), (.voipTopics, voipTopics)] where !topics.isEmpty {
            encoded.append((kind.identifier, Self.der(listing: topics)))
        }
        return encoded
    }

    private static func der(listing topics: [String]) -> [UInt8] {
        Element.der(
            .sequence,
            topics.flatMap { topic in
                let label = ["voip", "complication"].first { topic.hasSuffix("." + $0) } ?? "app"
                return Element.der(.text, Array(topic.utf8))
                    + Element.der(.sequence, Element.der(.text, Array(label.utf8)))
            })
    }
}

/// One element of DER (X.690), and what follows it.
private struct Element {
    enum Kind: CInt {
        case sequence = 16
        case text = 12
    }

    let kind: Kind
    let content: ArraySlice<UInt8>
    let rest: ArraySlice<UInt8>

    /// The first element of these bytes; nil where there is none of a kind that we know, with all of its bytes.
    init?(_ bytes: ArraySlice<UInt8>) {
        var (count, tag, tagClass) = (CLong(0), CInt(0), CInt(0))
        let header = unsafe bytes.withUnsafeBufferPointer { bytes -> Int? in
            guard let first = bytes.baseAddress else { return nil }
            var start: UnsafePointer<UInt8>? = unsafe first
            let flags = unsafe ASN1_get_object(&start, &count, &tag, &tagClass, bytes.count)
            // Neither an error (0x80) nor an indefinite length (1); constructed if and only if it is a sequence.
            let isConstructed = flags & V_ASN1_CONSTRUCTED != 0
            guard flags & 0x81 == 0, isConstructed == (tag == Kind.sequence.rawValue),
                let start = unsafe start
            else { return nil }
            return unsafe first.distance(to: start)
        }
        ErrorQueue.clear()
        guard let header, tagClass == V_ASN1_UNIVERSAL, let kind = Kind(rawValue: tag) else { return nil }
        self.kind = kind
        content = bytes.dropFirst(header).prefix(count)
        rest = bytes.dropFirst(header + count)
    }

    /// A text and what follows it; nil where this is none.
    var text: (value: String, rest: ArraySlice<UInt8>)? {
        guard kind == .text, let value = String(validating: content, as: UTF8.self) else { return nil }
        return (value, rest)
    }

    /// An element as DER writes it.
    static func der(_ kind: Kind, _ content: [UInt8]) -> [UInt8] {
        let tag = UInt8(kind.rawValue) | (kind == .sequence ? UInt8(V_ASN1_CONSTRUCTED) : 0)
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var count: [UInt8] = []
        var left = content.count
        while left > 0 {
            count.insert(UInt8(truncatingIfNeeded: left), at: 0)
            left >>= 8
        }
        return [tag, 0x80 | UInt8(count.count)] + count + content
    }
}
