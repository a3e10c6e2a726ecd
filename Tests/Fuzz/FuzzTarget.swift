/// Code of ours that takes bytes from strangers, and what must hold whatever they are. It must not trap either.
///
/// libFuzzer calls it with bytes of its own making (`make fuzz`), the tests with the files of its folder in `Corpora`.
struct FuzzTarget: Sendable {
    /// Its name in `make fuzz TARGET=…`, and its folder in `Corpora`.
    let name: String
    /// More bytes than this are of no use to it.
    let longestInput: Int
    /// Feeds bytes to it.
    let run: @Sendable ([UInt8]) throws(Contradiction) -> Void

    /// Every target.
    static let all = [
        FuzzTarget(name: "requests", longestInput: 8192, run: Requests.run),
        FuzzTarget(name: "provider-tokens", longestInput: 2048, run: ProviderTokenTexts.run),
        FuzzTarget(name: "certificate-topics", longestInput: 1024, run: CertificateTopics.run),
        FuzzTarget(name: "json", longestInput: 2048, run: JSONDocuments.run),
        FuzzTarget(name: "courier", longestInput: 4096, run: CourierBytes.run),
        FuzzTarget(name: "connections", longestInput: 16_384, run: Connections.run),
        FuzzTarget(name: "records", longestInput: 4096, run: RecordBytes.run),
        FuzzTarget(name: "lean-links", longestInput: 1024, run: LeanLinks.run),
    ]
}

/// Something that must hold did not.
struct Contradiction: Error, CustomStringConvertible {
    let description: String

    init(_ sentence: String) { description = sentence }
}

/// Throws a sentence where something does not hold.
func hold(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(Contradiction) {
    if !condition { throw Contradiction(sentence()) }
}
