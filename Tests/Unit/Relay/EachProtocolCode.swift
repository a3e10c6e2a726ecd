import PostriderRelay
import Testing

/// Runs each test of a suite twice: with protocol code of our own, and with nghttp2's.
struct EachProtocolCode: SuiteTrait, TestTrait, TestScoping {
    /// What shards of tests are made with.
    @TaskLocal static var current = ProtocolCode()

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        try await Self.$current.withValue(.nghttp2) { try await function() }
    }
}

extension Trait where Self == EachProtocolCode {
    /// Whoever's code carries HTTP/2.
    static var eachProtocolCode: Self { EachProtocolCode() }
}
