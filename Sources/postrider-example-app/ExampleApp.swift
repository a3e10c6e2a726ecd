import Foundation
import PostriderKit
import PostriderOptions
import Synchronization

/// Registers for a topic, and prints the device token and each notification, its own local ones included. Ends by
/// itself if an option says so.
enum ExampleApp {
    static func run(_ arguments: [String]) async -> Int32 {
        do {
            let options = try table.parse(arguments)
            if options.asksForHelp {
                say(table.helpText)
                return 0
            }
            return try await run(
                topic: options.string("topic") ?? ProcessInfo.processInfo.environment["POSTRIDER_TOPIC"]
                    ?? options.requiredString("topic"),
                socketPath: options.string("socket") ?? Application.defaultSocketPath,
                channels: options.list("channel"),
                limit: options.integer("count", in: 1...1_000_000),
                reminder: options.integer("remind", in: 1...1_000_000),
                failure: options.string("fail"),
                news: options.isSet("system") ? DeviceNews.observations : { _, _, _ in [] }
            )
        } catch let error as UsageError {
            complain(error.description)
            return 2
        } catch {
            complain("postrider-example-app: \(error)")
            return 1
        }
    }

    private static func run(
        topic: String, socketPath: String, channels: [String], limit: Int?, reminder: Int?,
        failure: String?,
        news: (Application, NotificationDispatcher, @escaping @Sendable (String) -> Void) -> [Observation]
    ) async throws -> Int32 {
        let application = Application(topic: topic, socketPath: socketPath)
        let dispatcher = NotificationDispatcher.default
        let count = Mutex(0)
        // Observers come first, because waiting notifications arrive as soon as the app registers.
        let observations = [
            dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: application) {
                [weak application] notification in
                say(description(of: notification.userInfo))
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if let failure { application?.reportFailure(failure) }
                if number == limit { application?.stop() }
            },
            dispatcher.addObserver(named: .deviceTokenDidChange, sender: application) { notification in
                say("device token: \(notification.userInfo[RegistrationKey.deviceToken]?.string ?? "")")
            },
            dispatcher.addObserver(named: .registrationDidFail, sender: application) { notification in
                complain("not registered: \(notification.userInfo[RegistrationKey.reason]?.string ?? "")")
            },
            dispatcher.addObserver(named: .channelDidSubscribe, sender: application) { notification in
                say("subscribed: \(notification.userInfo[ChannelKey.channel]?.string ?? "")")
            },
            dispatcher.addObserver(named: .channelDidEnd, sender: application) { notification in
                complain("not subscribed: \(notification.userInfo[ChannelKey.reason]?.string ?? "")")
            },
        ]
        var life = lifeCycle(of: application, dispatcher)
        life += news(application, dispatcher, say)
        let reminders = Reminders(of: application, dispatcher: dispatcher, say: say)
        for channel in channels { try application.subscribe(to: channel) }
        do {
            // An app that is started for a notification has been used before.
            let reason = ProcessInfo.processInfo.environment["POSTRIDER_LAUNCH_REASON"] ?? "activation"
            if let reminder, reason == "activation" {
                try application.start()
                try await reminders.remind(after: reminder)
            }
            try await application.registerForRemoteNotifications()
        } catch ApplicationError.stopped {
            // The waiting notifications were enough.
        }
        await application.untilEnd()
        withExtendedLifetime((observations, life, reminders)) {}
        return 0
    }

    /// Prints the life-cycle events of an app that a manifest declares.
    private static func lifeCycle(
        of application: Application, _ dispatcher: NotificationDispatcher
    ) -> [Observation] {
        [
            dispatcher.addObserver(named: .applicationDidFinishLaunching, sender: application) {
                say("did finish launching: \($0.userInfo[LaunchKey.reason]?.string ?? "")")
            },
            dispatcher.addObserver(named: .applicationDidBecomeActive, sender: application) { _ in
                say("did become active")
            },
            dispatcher.addObserver(named: .applicationDidEnterBackground, sender: application) { _ in
                say("did enter background")
            },
            dispatcher.addObserver(named: .applicationWillTerminate, sender: application) { _ in
                say("will terminate")
            },
        ]
    }

    /// Returns a notification as lines: title, body, then the provider's own keys by name.
    static func description(of userInfo: UserInfo) -> String {
        let alert = userInfo["aps"]?["alert"]
        let title = alert?["title"]?.string
        let body = alert?["body"]?.string ?? alert?.string
        var lines = ["notification"]
        if let title { lines.append("  title: \(title)") }
        if let body { lines.append("  body: \(body)") }
        for (name, value) in userInfo.sorted(by: { $0.key < $1.key }) where name != "aps" {
            lines.append("  \(name): \(text(of: value))")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(of value: UserInfoValue) -> String {
        value.string ?? value.json.map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON has not"
    }

    /// Prints without a buffer, so that a reader sees the text at once.
    @Sendable private static func say(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    }

    static let table = OptionTable(
        command: "postrider-example-app",
        summary:
            "Register with the agent for a topic, and print what observers of its notifications are given.",
        options: [
            .value(
                "topic", short: "t", "TOPIC",
                "The topic: what the provider sends as apns-topic; if not given, that of POSTRIDER_TOPIC, "
                    + "which the agent sets."),
            .file(
                "socket", short: "s", as: "PATH",
                "The agent's socket; if not given, that of POSTRIDER_AGENT_SOCKET, or else "
                    + "/run/postrider-agent/agent.sock."),
            .value("remind", short: "r", "SECONDS", "Ask the agent for a reminder after so many seconds."),
            .value("fail", "REASON", "Tell the agent that no push can be handled, and why."),
            .flag("system", "Print what happens to the device, too."),
            .list("channel", "CHANNEL", "A channel of the app to subscribe to."),
            .value("count", short: "n", "NUMBER", "End after so many notifications."),
            .flag(
                "service-extension",
                "Be the app's service extension: read a push's payload, write it as it is to be shown. It "
                    + "stands first."),
        ],
        examples: [
            .init("Wait for one notification", "postrider-example-app --topic com.example.app --count 1")
        ]
    )
}
