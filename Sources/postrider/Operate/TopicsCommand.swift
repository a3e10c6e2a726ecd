import PostriderCommands
import PostriderOptions
import PostriderRelay

/// `postrider topics`: manages the topics, and the teams that own them.
enum TopicsCommand: OperatorCommand {
    static let name = "topics"
    static let summary = "List, add and remove topics."
    static let actions = [
        OperatorAction(name, "list", "List the topics.") { options, client in
            let (topics, text) = try await client.list("/v1/topics", of: [Control.Topic].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(
                        ["TOPIC", "TEAM", "CHANNELS"],
                        topics.map { [$0.topic, $0.team, $0.takesBroadcasts ? "yes" : "no"] }))
            }
        },
        OperatorAction(
            name, "add", "Add a topic: its team may push to it and devices may register for it.",
            operands: [.required("TOPIC")],
            options: [
                .value("team-id", "ID", "The team that owns the topic."),
                .flag("no-broadcast", "Forbid channels of the app; existing ones are removed."),
            ],
            examples: [.init("An app's topic", "postrider topics add com.example.app --team-id DEF123GHIJ")]
        ) { options, client in
            let topic = try options.checked(options.operands[0])
            let team = try options.requiredString("team-id")
            let body = Array(
                try Console.json(
                    Control.TopicAddition(team: team, takesBroadcasts: !options.isSet("no-broadcast"))
                ).utf8)
            let answer = try await client.request("PUT", "/v1/topics/\(topic)", body: body)
            options.say(answer, "Team \(team) may push to \(topic).")
        },
        OperatorAction(
            name, "remove", "Remove a topic: nobody may push to it any more.", operands: [.required("TOPIC")],
            examples: [.init("An app that no longer exists", "postrider topics remove com.example.app")]
        ) { options, client in
            let topic = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/topics/\(topic)")
            options.say(answer, "Nobody may push to \(topic) any more.")
        },
    ]
}
