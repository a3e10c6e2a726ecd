import PostriderNotifications

/// What a request for the state of a push waits for: `wait=STAGE&timeout=SECONDS`.
struct PushWait: Sendable, Equatable {
    /// The fault of a query, in one sentence.
    struct Mistake: Error {
        let sentence: String
    }

    private(set) var stage = PushProgress.Stage.done
    /// How long it waits; 0 for an answer at once.
    private(set) var seconds: Int

    /// Waits for a stage.
    init(for stage: PushProgress.Stage, seconds: Int) {
        (self.stage, self.seconds) = (stage, seconds)
    }

    /// Reads a query. An empty one waits for nothing.
    init(_ query: Substring) throws(Mistake) {
        seconds = query.isEmpty ? 0 : Limits.waitSeconds.usual
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first {
            case "wait":
                guard let named = PushProgress.Stage(rawValue: value) else {
                    let names = PushProgress.Stage.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Mistake(sentence: "'wait' is one of \(names), not '\(value)'.")
                }
                stage = named
            case "timeout":
                guard let number = Int(value), 0...Limits.waitSeconds.most ~= number else {
                    throw Mistake(
                        sentence: "'timeout' is a number of seconds from 0 to \(Limits.waitSeconds.most).")
                }
                seconds = number
            default: throw Mistake(sentence: "A push is asked for with wait and timeout.")
            }
        }
    }
}
