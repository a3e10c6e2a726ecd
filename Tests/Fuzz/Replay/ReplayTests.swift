import Foundation
import PostriderSeededRandom
import Testing

/// Runs every file of a corpus through its target, and inputs that are made of them. `make fuzz` runs the fuzzer
/// itself.
@Suite("Bytes from strangers")
struct ReplayTests {
    private static let corpora = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Corpora")

    /// The number of inputs that are made for each target.
    private static let mutated: UInt64 = 1_000

    private static func files(of target: FuzzTarget) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: corpora.appending(path: target.name), includingPropertiesForKeys: nil)
    }

    @Test("that were kept break nothing", arguments: FuzzTarget.all.indices)
    func replay(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        let files = try Self.files(of: target)
        #expect(files.count >= 5, "\(target.name) has hardly a corpus")
        for file in files {
            let bytes = Array(try Data(contentsOf: file))
            #expect(bytes.count <= target.longestInput, "\(file.lastPathComponent) is cut off by the fuzzer")
            do throws(Contradiction) {
                try target.run(bytes)
                // The same without our own protocol code (`Connections`).
                if target.name == "connections", let mode = bytes.first {
                    try target.run([mode ^ 0x80] + bytes.dropFirst())
                }
            } catch {
                Issue.record("\(target.name)/\(file.lastPathComponent): \(error)")
            }
        }
    }

    @Test("that were kept and are cut off anywhere break nothing", arguments: FuzzTarget.all.indices)
    func truncations(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        for file in try Self.files(of: target) {
            let bytes = Array(try Data(contentsOf: file))
            for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 8)) {
                do throws(Contradiction) {
                    try target.run(Array(bytes[..<count]))
                } catch {
                    Issue.record(
                        "\(target.name)/\(file.lastPathComponent), the first \(count) bytes: \(error)")
                }
            }
        }
    }

    @Test("that are made of kept ones under a seed break nothing", arguments: FuzzTarget.all.indices)
    func mutations(_ index: Int) throws {
        let target = FuzzTarget.all[index]
        let dictionary = Self.corpora.deletingLastPathComponent().appending(
            path: "Dictionaries/\(target.name).dict")
        let text = String(decoding: try Data(contentsOf: dictionary), as: UTF8.self)
        let mutator = InputMutator(
            inputs: try Self.files(of: target).sorted { $0.path < $1.path }.map {
                Array(try Data(contentsOf: $0))
            }
            .filter { !$0.isEmpty },
            words: try #require(InputMutator.words(of: text), "a line of the dictionary is no word"),
            longest: target.longestInput)
        for seed in 1...Self.mutated as ClosedRange<UInt64> {
            var chance = SplitMix64(seed: seed)
            let bytes = mutator.draw(&chance)
            do throws(Contradiction) {
                try target.run(bytes)
            } catch {
                Issue.record("\(target.name), seed \(seed): \(error); the input is \(bytes)")
            }
        }
    }

    @Test("mean the same on a lean link as where the library reads them, in any order", arguments: 1...300)
    func leanLinks(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let bytes = (0...400).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        do throws(Contradiction) {
            // Half of the inputs arrive in complete frames.
            try LeanLinks.run([seed % 2 == 0 ? bytes[0] & 0x40 : bytes[0]] + bytes.dropFirst())
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    @Test("have a folder for each target and no other")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }
}
