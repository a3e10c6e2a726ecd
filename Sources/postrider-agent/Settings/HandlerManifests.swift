import PostriderAgent
import PostriderCommands
import PostriderNotifications
import PostriderYAML

/// The part of a manifest that declares a handler: `run` or `systemd-unit` in place of `program`.
enum HandlerManifests {
    /// The handler of a manifest, with the program and its arguments, which are empty for a unit; nil if the manifest
    /// declares an app.
    static func read(
        _ reader: YAMLReader
    ) throws(YAMLError) -> (handler: AppManifest.Handler, words: [String])? {
        let words = try reader.strings("run")
        let unit = try reader.string("systemd-unit")
        guard words != nil || unit != nil else { return nil }
        if words != nil, unit != nil {
            throw reader.error("systemd-unit", "and 'run' exclude each other: keep one of them")
        }
        try refuseAppSettings(reader)
        if let words { try check(words, reader) }
        if let unit, !isTemplate(unit) {
            throw reader.error(
                "systemd-unit",
                "must be the name of a template such as reboot-once, for reboot-once@.service, not '\(unit)'")
        }
        var handler = AppManifest.Handler(unit: unit)
        if unit == nil {
            if let directory = try reader.string("directory") {
                guard directory.hasPrefix("/") else {
                    throw reader.error("directory", "must be an absolute path, not '\(directory)'")
                }
                handler.directory = directory
            }
            handler.sandbox = try sandbox(reader)
        }
        let (time, runs) = (Limits.handlerSeconds, Limits.handlersAtOnce)
        if let seconds = try reader.integer("handler-timeout", in: time.least...time.most) {
            handler.seconds = seconds
        }
        if let most = try reader.integer("parallelism", in: runs.least...runs.most) {
            handler.parallelism = most
        }
        handler.environment =
            try reader.choice("apns-environment", of: Environment.self) ?? .production
        return (handler, words ?? [])
    }

    private static func check(_ words: [String], _ reader: YAMLReader) throws(YAMLError) {
        guard let program = words.first else {
            throw reader.error("run", "must name a program, with its arguments behind it")
        }
        guard program.hasPrefix("/") else {
            throw reader.error("run", "must begin with an absolute path, not '\(program)'")
        }
        guard !words.contains(where: { $0.utf8.contains(0) }) else {
            throw reader.error("run", "may not contain U+0000, which no argument can")
        }
    }

    /// Refuses settings that apply only to apps that attach.
    private static func refuseAppSettings(_ reader: YAMLReader) throws(YAMLError) {
        for name in ["program", "arguments", "background", "exits-on-suspend"]
        where reader.has(name) {
            throw reader.error(
                name, "is for apps that attach: leave it out, or leave out 'run' and 'systemd-unit'")
        }
    }

    /// Whether the name can stand before the `@` of a unit's name (systemd.unit(5)).
    private static func isTemplate(_ name: String) -> Bool {
        !name.isEmpty && !name.hasSuffix(".service") && name.utf8.count <= 200
            && name.utf8.allSatisfy { $0.isLetterOrDigit || ":-_.\\".utf8.contains($0) }
    }

    private static func sandbox(_ reader: YAMLReader) throws(YAMLError) -> AppManifest.Sandbox {
        var sandbox = AppManifest.Sandbox()
        guard let reader = try reader.mapping("sandbox") else { return sandbox }
        sandbox.hasNoNewPrivileges = try reader.boolean("no-new-privileges") ?? true
        sandbox.memoryBytes = try reader.bytes("memory", in: Limits.sandboxMemoryBytes)
        sandbox.processes = try reader.integer("processes", in: Limits.sandboxProcesses)
        sandbox.openFiles = try reader.integer("open-files", in: Limits.sandboxFiles)
        sandbox.fileBytes = try reader.bytes("file-size", in: Limits.sandboxFileBytes)
        return sandbox
    }
}
