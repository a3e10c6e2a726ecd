import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The requests that a provider makes besides pushing: look-ups of devices, and questions about pushes.
struct ProviderRequest: Sendable {
    let relay: Server
    let signer: ProviderTokenMaker
    let topic: Topic

    private struct Refusal: Decodable { let reason: String }

    /// The header block of a request.
    func head(_ path: String, _ client: RequestClient, _ loop: EventLoop) -> HeaderBlock {
        var head = client.makeHead("GET", path)
        let token = signer.makeToken(issuedAt: Moment(milliseconds: loop.wallMilliseconds))
        head.addUnindexed("authorization", "bearer \(token)")
        head.add("apns-topic", topic.text)
        return head
    }

    /// Makes one request on a connection of its own.
    func response(to path: String) async throws -> RequestClient.Response {
        let result = try await LoopThread.run("ask") { loop in
            var bounds = RequestClient.Bounds()
            bounds.responseBytes = Limits.controlAnswerBytes
            let client = RequestClient(to: relay, on: loop, bounds: bounds)
            var result: Result<RequestClient.Response, ClientError>?
            try client.send(head(path, client, loop)) { [unowned loop] answer in
                result = answer
                loop.stop()
            }
            return { withExtendedLifetime(client) { result ?? .failure(.unprocessed) } }
        }
        switch result {
        case .success(let answer): return answer
        case .failure(.notConnected(let reason)):
            throw CommandFailure.notConnected(to: relay.destination, reason)
        case .failure(let error):
            throw CommandFailure("The relay at \(relay.destination) did not answer: \(error).")
        }
    }

    /// The error for a response that is no success.
    ///
    /// - Parameters:
    ///   - deed: what the provider may not do, after "to", such as "look up devices".
    ///   - setting: the setting of the relay that names the keys that may.
    func refusal(
        _ response: RequestClient.Response, _ deed: String, setting: Setting = .lookupKeys
    ) -> CommandFailure {
        let place = relay.destination
        let reason = (try? JSONDecoder().decode(Refusal.self, from: Data(response.body)))?.reason ?? ""
        return switch reason {
        // Without lookups, the relay takes the path for a push with a wrong method.
        case "MethodNotAllowed", "BadPath", "Forbidden":
            CommandFailure(
                "The relay at \(place) does not let this key \(deed): its operator names such keys in the "
                    + "setting \(setting.rawValue).")
        case "TopicDisallowed":
            CommandFailure("The key is not for the app \(topic.text): give another --topic.")
        case "FeatureNotEnabled":
            CommandFailure(
                "The relay at \(place) does not trace every push: its operator sets trace to true, and "
                    + "trace-sample to 1.")
        default:
            CommandFailure("The relay at \(place) refused to \(deed): \(response.status) \(reason).")
        }
    }
}
