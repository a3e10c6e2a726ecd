import FoundationEssentials
import PostriderCallbackSender
import PostriderCallbacks
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderSpans

/// The operator's settings of spans (docs/operate/opentelemetry.md).
struct SpanArguments: Equatable {
    /// The base URL of the receiver.
    let endpoint: String
    /// Of the pushes without a trace context, one of this many has a trace of its own; nil if none has.
    let sample: Int?

    /// The settings that this reads.
    static let settings: [Setting] = [.otlpEndpoint, .otlpSample]

    /// The form of `otlp-endpoint`, for sentences.
    static let form =
        "a URL of http or https, without user, query and fragment, such as http://127.0.0.1:4318"

    private init(endpoint: String, sample: Int?) {
        self.endpoint = endpoint
        self.sample = sample
    }

    /// Reads the options of `postrider dev`; nil if spans are off.
    init?(_ options: ParsedOptions) throws {
        let sample = try options.integer(Setting.otlpSample.rawValue, in: Limits.spanSample)
        guard let text = options.string(Setting.otlpEndpoint.rawValue) else {
            guard sample == nil else {
                throw options.error("--otlp-sample goes with --otlp-endpoint; give both, or none")
            }
            return nil
        }
        guard let endpoint = Self.endpoint(text) else {
            throw options.error("--otlp-endpoint must be \(Self.form), not '\(text)'")
        }
        self.init(endpoint: endpoint, sample: sample)
    }

    /// Reads the settings of `postrider serve`; nil if spans are off.
    init?(_ texts: SettingTexts<Setting>) throws {
        let sample = try texts.number(.otlpSample, in: Limits.spanSample)
        guard let endpoint = try texts.value(.otlpEndpoint, form: Self.form, Self.endpoint) else {
            guard sample == nil else {
                throw texts.mistake(.otlpSample, "goes with otlp-endpoint; set both, or none")
            }
            return nil
        }
        self.init(endpoint: endpoint, sample: sample)
    }

    /// Nil if the text has another form.
    private static func endpoint(_ text: String) -> String? {
        guard !text.contains("?"), CallbackURL(text) != nil else { return nil }
        return text
    }

    /// Refuses a relay that does not trace every push.
    func requireWholeTrace(_ configuration: RelayConfiguration) throws(CommandFailure) {
        guard configuration.traceSample != 1 else { return }
        throw CommandFailure(
            "otlp-endpoint needs a trace of every push: leave out trace and trace-sample.", exitCode: 2)
    }

    /// Starts the sender, and has the relay use it.
    ///
    /// - Throws: a sentence if the relay does not trace every push, or libcurl cannot be used.
    func start(for configuration: inout RelayConfiguration, log: Log) throws -> SpanSender {
        try requireWholeTrace(configuration)
        let origin = SpanOrigin(version: Program.version, host: ProcessInfo.processInfo.hostName)
        let sender = try SpanSender(endpoint: endpoint, of: origin, log: log)
        configuration.spans = SpanConfiguration(sample: sample, send: sender.send)
        return sender
    }
}
