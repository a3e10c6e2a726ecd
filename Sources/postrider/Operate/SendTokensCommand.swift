import FoundationEssentials
import PostriderCommands
import PostriderOptions
import PostriderRelay

/// `postrider send-tokens`: manages the tokens with which scripts send alerts to devices.
enum SendTokensCommand: OperatorCommand {
    static let name = "send-tokens"
    static let summary = "List, add and remove the tokens with which scripts send alerts by plain requests."
    static let actions = [
        OperatorAction(name, "list", "List the send tokens by their names.") { options, client in
            let (tokens, text) = try await client.list("/v1/send-tokens", of: [Control.SendToken].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(
                        ["NAME", "ADDED", "TOPICS"],
                        tokens.map {
                            [$0.name, Listing.time($0.addedAt), $0.topics.joined(separator: " ")]
                        }))
            }
        },
        OperatorAction(
            name, "add",
            "Create a send token and print it. It cannot be printed again: the relay stores only its digest.",
            operands: [.required("NAME")],
            options: [
                .list("topic", "TOPIC", "A topic to which the token may send; can be repeated. Required.")
            ],
            examples: [
                .init(
                    "A token for cron, in a file",
                    "postrider send-tokens add cron --topic com.example.alarm > send.token")
            ]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let topics = options.list("topic")
            guard !topics.isEmpty else {
                throw options.error("--topic is required: name each topic to which the token may send")
            }
            let answer = try await client.request(
                "PUT", "/v1/send-tokens/\(name)",
                body: Array(JSONEncoder().encode(Control.SendTokenAddition(topics: topics))))
            guard let made = try? JSONDecoder().decode(Control.NewSendToken.self, from: Data(answer)) else {
                throw CommandFailure(
                    "The relay made the send token \(name), but did not tell it: remove it again.")
            }
            options.say(answer, made.token)
        },
        OperatorAction(
            name, "remove", "Remove a token: requests with it are refused at once.",
            operands: [.required("NAME")],
            examples: [.init("A token that too many people know", "postrider send-tokens remove cron")]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/send-tokens/\(name)")
            options.say(answer, "Nobody can send with \(name) any more.")
        },
    ]
}
