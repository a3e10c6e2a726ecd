public import PostriderCrypto

/// Apple's extensions in a provider's certificate ("Establishing a certificate-based connection to APNs"). Their object
/// identifiers are 1.2.840.113635.100.6.3 and one more number.
public struct PushExtensions: Equatable, Sendable {
    /// Whether it may be used in the development environment (…1).
    public var isForDevelopment = false
    /// Whether it may be used in the production environment (…2). A certificate for both is called universal.
    public var isForProduction = false
    /// The topics that it lists (…6).
    public var topics: [String] = []
    /// The topics that a VoIP services certificate lists (…4).
    public var voipTopics: [String] = []

    /// The extensions of a certificate without any.
    public init() {}

    /// The extensions of a certificate in PEM; nil if there is no certificate or the extensions are malformed.
    public init?(certificate pem: String) {
        guard let details = CertificateDetails(pem: pem) else { return nil }
        self.init(details)
    }

    /// The extensions of a certificate; nil if they are malformed, or one occurs twice. OpenSSL limits a peer's
    /// certificates to 100 KiB.
    public init?(_ certificate: CertificateDetails) {
        for kind in Kind.allCases {
            let values = certificate.extensions.filter { $0.identifier == kind.identifier }
            guard values.count <= 1 else { return nil }
            guard let value = values.first else { continue }
            switch kind {
            case .development: isForDevelopment = true
            case .production: isForProduction = true
            case .topics, .voipTopics:
                guard let listed = Self.topics(inDER: value.der) else { return nil }
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
    }

    /// A list of topics: a SEQUENCE in which each topic, a UTF8String, is followed by the SEQUENCE of its labels
    /// (`app`, `voip`, `complication`), UTF8Strings too. Nil for anything else.
    static func topics(inDER bytes: [UInt8]) -> [String]? {
        guard let list = DERElement(bytes[...]), list.kind == .sequence, list.rest.isEmpty else { return nil }
        var topics: [String] = []
        var rest = list.content
        while !rest.isEmpty {
            guard let topic = DERElement(rest)?.text, let labels = DERElement(topic.rest),
                labels.kind == .sequence
            else { return nil }
            var label = labels.content
            while !label.isEmpty {
                guard let text = DERElement(label)?.text else { return nil }
                label = text.rest
            }
            topics.append(topic.value)
            rest = labels.rest
        }
        return topics
    }

    /// The DER of the extensions, for a new certificate.
    public var encoded: [CertificateDetails.Extension] {
        var encoded: [CertificateDetails.Extension] = []
        // NULL (X.690, 8.8).
        let null: [UInt8] = [5, 0]
        func add(_ kind: Kind, _ der: [UInt8]) {
            encoded.append(CertificateDetails.Extension(identifier: kind.identifier, der: der))
        }
        if isForDevelopment { add(.development, null) }
        if isForProduction { add(.production, null) }
        for (kind, topics) in [(Kind.topics, topics), (.voipTopics, voipTopics)] where !topics.isEmpty {
            add(kind, Self.der(listing: topics))
        }
        return encoded
    }

    private static func der(listing topics: [String]) -> [UInt8] {
        DERElement.der(
            .sequence,
            topics.flatMap { topic in
                let label = ["voip", "complication"].first { topic.hasSuffix("." + $0) } ?? "app"
                return DERElement.der(.text, Array(topic.utf8))
                    + DERElement.der(.sequence, DERElement.der(.text, Array(label.utf8)))
            })
    }
}
