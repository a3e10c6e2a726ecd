import PostriderCourier

@testable import PostriderRelay

/// Messages between the shards of different processes.
enum ShardMessages {
    /// Checks that a decoded message is encoded in one way, which decodes to the same message.
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let message = try? ShardMessage(decoding: input.span) else { return }
        let written = try encoded(message)
        let again: ShardMessage
        do throws(CourierError) {
            again = try ShardMessage(decoding: written.span)
        } catch {
            throw Contradiction("a message is written so that it cannot be read: \(error)")
        }
        try hold(try encoded(again) == written, "a message is written in two ways")
    }

    private static func encoded(_ message: ShardMessage) throws(Contradiction) -> [UInt8] {
        do throws(CourierError) {
            guard let bytes = try message.encoded() else {
                throw CourierError.outOfOrder("it stays within a process")
            }
            return bytes
        } catch {
            throw Contradiction("a message that was read cannot be written: \(error)")
        }
    }
}
