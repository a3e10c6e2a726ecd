import PostriderCallbackSender
import PostriderCallbacks
import PostriderCommands
import PostriderFileTrust
import PostriderNotifications
import PostriderOptions
import PostriderRelay

/// The operator's settings of callbacks (docs/operate/callbacks.md).
struct CallbackArguments {
    let policy: CallbackPolicy
    let key: CallbackKey

    /// The settings that this reads.
    static let settings: [Setting] = [.callbackAllow, .callbackSecret]

    /// The form of `callback-allow`, for sentences.
    static let form =
        "URLs of http or https, at most \(Limits.callbackPrefixes), without user, query, fragment and '..'"

    /// Reads the secret in a file that nobody else can read.
    ///
    /// - Parameter mistake: makes an error of the rest of a sentence that begins with the setting.
    init(policy: CallbackPolicy, secretFile path: String, _ mistake: (String) -> any Error) throws {
        let bytes: [UInt8]
        do throws(FileAccessError) {
            bytes = try FileAccessRule.secret().open(path).read(atMost: 4096)
        } catch {
            throw mistake("names a file that cannot be used: \(path) \(error.explanation)")
        }
        guard let key = CallbackKey(String(decoding: bytes, as: UTF8.self).trimmed) else {
            throw mistake(
                "must name a file with whsec_ and the base64 of 24 to 64 random bytes, which \(path) is not; "
                    + "make one with: (printf whsec_; openssl rand -base64 32) > FILE")
        }
        self.policy = policy
        self.key = key
    }

    /// Reads the options of `postrider dev`; nil if callbacks are off.
    init?(_ options: ParsedOptions) throws {
        let (allowed, path) = (
            options.string(Setting.callbackAllow.rawValue), options.string(Setting.callbackSecret.rawValue)
        )
        guard let allowed, let path else {
            guard allowed == nil, path == nil else {
                throw options.error("--callback-allow and --callback-secret go together; give both, or none")
            }
            return nil
        }
        let texts = allowed.split(separator: ",").map { $0.trimmed }
        guard let policy = CallbackPolicy(prefixes: texts) else {
            throw options.error("--callback-allow must be \(Self.form), not '\(allowed)'")
        }
        try self.init(policy: policy, secretFile: path) { options.error("--callback-secret \($0)") }
    }

    /// Refuses a relay that does not trace every push.
    func requireWholeTrace(_ configuration: RelayConfiguration) throws(CommandFailure) {
        guard configuration.traceSample != 1 else { return }
        throw CommandFailure(
            "callback-allow needs a trace of every push: leave out trace and trace-sample.", exitCode: 2)
    }

    /// Starts the sender, and has the relay use it.
    ///
    /// - Parameter directory: the relay's data directory, where the file of what is owed is.
    /// - Throws: a sentence if the relay does not trace every push, or libcurl cannot be used.
    func start(
        for configuration: inout RelayConfiguration, in directory: String, log: Log
    ) throws -> CallbackSender {
        try requireWholeTrace(configuration)
        let counts = CallbackCounts()
        let store = CallbackFile("\(directory)/callbacks.log", log: log)
        let sender = try CallbackSender(key: key, counts: counts, store: store, log: log)
        configuration.callbacks = CallbackConfiguration(
            policy: policy, counts: counts, store: store, send: sender.send)
        return sender
    }
}

extension Settings {
    /// The settings of callbacks; nil if they are off.
    func callbacks() throws -> CallbackArguments? {
        let policy = try texts.list(.callbackAllow, form: CallbackArguments.form) {
            CallbackPolicy(prefixes: $0)
        }
        guard let policy else {
            guard texts[.callbackSecret] == nil else {
                throw texts.mistake(.callbackSecret, "goes with callback-allow; set both, or none")
            }
            return nil
        }
        let path = try texts.required(.callbackSecret)
        return try CallbackArguments(policy: policy, secretFile: path) {
            texts.mistake(.callbackSecret, $0)
        }
    }
}
