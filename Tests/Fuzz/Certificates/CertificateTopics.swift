import PostriderCrypto

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// The list of topics in an extension of a provider's certificate, in DER, which our own code reads.
enum CertificateTopics {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let topics = PushExtensions.topics(inDER: input) else { return }
        let content = topics.reduce(0) { $0 + $1.utf8.count + 4 }
        try hold(content <= input.count, "there are more topics than bytes")
        var extensions = PushExtensions()
        extensions.topics = topics
        let written = extensions.encoded
        try hold(
            written.count == (topics.isEmpty ? 0 : 1), "topics are written in \(written.count) extensions")
        guard let der = written.first?.der else { return }
        try hold(
            PushExtensions.topics(inDER: der) == topics, "the topics are others when they have been written")
    }
}
