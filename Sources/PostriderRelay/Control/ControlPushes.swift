import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI

/// Pushes that the operator makes on the control socket (`POST /3/device/<token>`): the provider API without an
/// authorization, for every topic that the relay knows. It lives on shard 0.
final class ControlPushes {
    typealias Respond = (PushResult) -> Void

    private let context: ShardContext
    private let home: DeviceHome
    private let providers: ProviderConnections
    private let production: PushValidator
    private let development: PushValidator
    private var credentials = ProviderCredentials.ofOperator
    private var waiting: [UInt64: Respond] = [:]

    init(_ context: ShardContext, _ home: DeviceHome, _ providers: ProviderConnections) {
        self.context = context
        self.home = home
        self.providers = providers
        func validator(_ environment: Environment) -> PushValidator {
            PushValidator(
                tokens: providers.tokens, seal: context.codec, topics: providers.topics,
                environment: environment, callbacks: providers.callbacks)
        }
        production = validator(.production)
        development = validator(.development)
        providers.sessions.others.append { [weak self] in self?.answer($0, $1) }
    }

    /// Sends a complete request to the device's home; `respond` is called once.
    func push(_ request: PushRequest, _ respond: @escaping Respond) {
        let context = context
        guard !context.isDraining else { return respond(.rejected(.shutdown)) }
        do throws(Rejection) {
            let notification = try validator(for: request).admit(
                request, &credentials, by: context.policy, isStrict: providers.compatibility.isStrict,
                now: context.now)
            let number = context.drawNumber()
            waiting[number] = respond
            let address = ReplyAddress(shard: Int32(context.index), stream: 0, connection: number)
            if let rejection = home.route(notification, address) { answer(address, .rejected(rejection)) }
        } catch {
            respond(.rejected(error))
        }
    }

    private func answer(_ address: ReplyAddress, _ result: PushResult) {
        waiting.removeValue(forKey: address.connection)?(result)
    }

    /// The environment of a push is that of its device token.
    private func validator(for request: PushRequest) -> PushValidator {
        let digits = request.text(.path).map { $0.dropFirst("/3/device/".utf8.count) } ?? ""
        guard let token = DeviceToken(hex: String(digits)), let (_, registration) = context.codec.open(token)
        else {
            return production
        }
        return registration.environment == .production ? production : development
    }
}
