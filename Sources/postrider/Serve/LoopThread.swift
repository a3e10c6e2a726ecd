import PostriderTransport

/// Commands that are clients: their connections live on a loop of their own.
enum LoopThread {
    /// Starts a thread with a loop, and answers what came of it.
    ///
    /// - Parameter begin: called on the loop's thread before it runs; whatever it starts stops the loop in
    ///   the end. What it returns is called after that, keeps alive what is needed until then, and answers
    ///   the outcome.
    static func run<Outcome: Sendable>(
        _ name: String, _ begin: @escaping @Sendable (EventLoop) throws -> () throws -> Outcome
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            do throws(TransportError) {
                _ = try Thread.spawn(name: name) {
                    continuation.resume(
                        with: Result {
                            let loop = try EventLoop()
                            let end = try begin(loop)
                            loop.run()
                            return try end()
                        })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
