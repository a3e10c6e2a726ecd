import FoundationEssentials
import PostriderAgent
import PostriderCommands
import PostriderCourier
import PostriderFileTrust
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import PostriderYAML

/// The manifests of apps: YAML files in a directory, one for each app.
enum AppManifests {
    /// Reads and checks all manifests of a directory, in the order of their names.
    ///
    /// - Throws: ``CommandFailure`` at the first mistake: file, line, and what to do.
    static func read(_ directory: String) throws -> [AppManifest] {
        var manifests: [AppManifest] = []
        for path in try files(in: directory) {
            let manifest = try read(try FileText.readUnchangeable(path, "The manifest"), path)
            guard !manifests.contains(where: { $0.topic == manifest.topic }) else {
                throw CommandFailure(
                    "\(path): another manifest declares \(manifest.topic) too; keep one of them.", exitCode: 2
                )
            }
            manifests.append(manifest)
        }
        return manifests
    }

    /// The paths of the manifests of a directory, in the order of their names.
    static func files(in directory: String) throws(CommandFailure) -> [String] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw CommandFailure(
                "The apps-directory \(directory) cannot be read: make it, or name another.", exitCode: 2)
        }
        let files = names.filter { $0.hasSuffix(".yaml") && !$0.hasPrefix(".") }.sorted()
        guard files.count <= Limits.manifests else {
            throw CommandFailure(
                "The apps-directory \(directory) has more than \(Limits.manifests) manifests.", exitCode: 2)
        }
        return files.map { "\(directory)/\($0)" }
    }

    /// Reads and checks one manifest.
    static func read(
        _ text: String, _ path: String, by user: UInt32 = UserAccount.own
    ) throws(CommandFailure) -> AppManifest {
        do throws(YAMLError) {
            let reader = try YAMLReader.reading(text: text, file: path)
            let topic = try reader.required("topic", reader.string)
            guard Topic(topic) != nil else { throw reader.error("topic", "must be a bundle identifier") }
            let handled = try HandlerManifests.read(reader)
            let words = if let handled { handled.words } else { try command(reader) }
            let program = words.first ?? ""
            var manifest = AppManifest(topic: topic, user: user, program: program)
            manifest.handler = handled?.handler
            manifest.arguments = Array(words.dropFirst())
            if let name = try reader.string("user") {
                guard let identifier = UserAccount.identifier(of: name) else {
                    throw reader.error("user", "must be a user of this device, by name or number")
                }
                manifest.user = identifier
            }
            guard manifest.user == user || user == 0 else {
                throw reader.error(
                    "user", "is not the agent's own user: run the agent as root, or leave the line out")
            }
            if handled == nil {
                manifest.mayRunInBackground = try reader.boolean("background") ?? false
                manifest.exitsOnSuspend = try reader.boolean("exits-on-suspend") ?? false
                manifest.handlerSeconds = try handlerSeconds(reader)
            }
            if handled?.handler.unit == nil { manifest.environment = try environment(reader) }
            manifest.notifications = try notifications(reader)
            manifest.notificationOptions = try notificationOptions(reader, where: manifest.notifications)
            manifest.name = try reader.string("name")
            manifest.icon = try reader.string("icon")
            manifest.desktopFile = try reader.string("desktop-file")
            if let file = manifest.desktopFile,
                file.isEmpty || file.contains("/") || file.hasSuffix(".desktop")
            {
                throw reader.error("desktop-file", "must be a name without .desktop, not '\(file)'")
            }
            manifest.serviceExtension = try serviceExtension(reader, of: manifest.user)
            try reader.finish()
            // The program of a handler is checked when it is started, so that a missing one does not stop the agent.
            if handled == nil, let mistake = mistake(in: program, of: manifest.user) {
                throw reader.error("program", mistake)
            }
            return manifest
        } catch {
            throw CommandFailure(error.description, exitCode: 2)
        }
    }

    /// The program of an app and its arguments.
    private static func command(_ reader: YAMLReader) throws(YAMLError) -> [String] {
        let program = try reader.required("program", reader.string)
        return [program] + (try reader.strings("arguments") ?? [])
    }

    /// Whole seconds; nil for `none`.
    private static func handlerSeconds(_ reader: YAMLReader) throws(YAMLError) -> Int? {
        let limits = Limits.handlerSeconds
        guard let text = try reader.string("handler-timeout") else { return limits.usual }
        if text == "none" { return nil }
        if let seconds = Int(text), (limits.least...limits.most).contains(seconds) { return seconds }
        throw reader.error(
            "handler-timeout",
            "must be whole seconds from \(limits.least) to \(limits.most), or none, not '\(text)'")
    }

    /// The decision whether the app may notify, in the words of the agent's setting of this name.
    private static func notifications(_ reader: YAMLReader) throws(YAMLError) -> AuthorizationStatus {
        switch try reader.string("notifications") {
        case "allow": return .authorized
        case "deny": return .denied
        case "ask", nil: return .notDetermined
        case let text?: throw reader.error("notifications", "must be ask, allow or deny, not '\(text)'")
        }
    }

    /// The permissions that an app gets of those it asks for; nil for all.
    private static func notificationOptions(
        _ reader: YAMLReader, where status: AuthorizationStatus
    ) throws(YAMLError) -> NotificationOptions? {
        let name = "notification-options"
        guard let words = try reader.strings(name) else { return nil }
        guard status == .authorized else {
            throw reader.error(name, "has a meaning with notifications: allow only")
        }
        let (options, unknown) = NotificationOptions.reading(words)
        if let unknown {
            let known = NotificationOptions.words.map(\.word).joined(separator: ", ")
            throw reader.error(name, "must be a list of \(known), not '\(unknown)'")
        }
        return options
    }

    private static let extensionKey = "service-extension"

    /// The program that may change the app's alerts; nil if there is none.
    private static func serviceExtension(
        _ reader: YAMLReader, of user: UInt32
    ) throws(YAMLError) -> AppManifest.ServiceExtension? {
        guard let reader = try reader.mapping(extensionKey) else { return nil }
        let program = try reader.required("program", reader.string)
        let bounds = Limits.extensionMilliseconds
        let milliseconds = try reader.milliseconds("time-limit", in: bounds.least...bounds.most)
        if let mistake = mistake(in: program, of: user) { throw reader.error("program", mistake) }
        return AppManifest.ServiceExtension(
            program: program, arguments: try reader.strings("arguments") ?? [],
            milliseconds: milliseconds ?? bounds.usual)
    }

    /// The list of environment variables, each as `NAME=VALUE`.
    private static func environment(_ reader: YAMLReader) throws(YAMLError) -> [String: String] {
        var environment: [String: String] = [:]
        for entry in try reader.strings("environment") ?? [] {
            guard let sign = entry.firstIndex(of: "="), sign != entry.startIndex else {
                throw reader.error("environment", "must be a list of NAME=VALUE, not '\(entry)'")
            }
            let name = String(entry[..<sign])
            guard !name.hasPrefix("POSTRIDER_") else {
                throw reader.error("environment", "may not set \(name): the agent does")
            }
            environment[name] = String(entry[entry.index(after: sign)...])
        }
        return environment
    }

    /// What is wrong with the program's file; nil if it can be started and no other user can have changed it.
    private static func mistake(in program: String, of user: UInt32) -> String? {
        guard program.hasPrefix("/") else { return "must be an absolute path, not '\(program)'" }
        do throws(FileAccessError) {
            try FileAccessRule.unchangeable(by: user).checkProgram(program)
            return nil
        } catch {
            guard !error.isMissing, error != .notRegular else {
                return "is not there: give the path of a program"
            }
            return "is not a program that may be started: \(program) \(error.explanation)"
        }
    }
}
