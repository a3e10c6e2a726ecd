import PostriderHTTP2
import PostriderNotifications
import PostriderRules
import PostriderYAML

extension ConnectionEffect {
    init(_ reader: YAMLReader) throws(YAMLError) {
        self.init()
        settings = try Self.settings(reader)
        window = try Self.window(reader)
        stopsReading = try TimeLimit(reader, "stopReading")
        expiredCertificates = try Self.expiredCertificates(reader)
        if window != nil, settings?.values.contains(where: { $0.setting == .initialWindowSize }) == true {
            throw reader.error(
                "window", "and 'settings.initialWindowSize' contradict each other; keep one of them")
        }
    }

    /// The name of something that needs the connection after the push; nil if there is nothing of the kind.
    var nameOfLasting: String? {
        if settings != nil { return "settings" }
        if window != nil { return "window" }
        return stopsReading == nil ? nil : "stopReading"
    }

    private static func settings(_ reader: YAMLReader) throws(YAMLError) -> SettingsChange? {
        guard let changed = try reader.mapping("settings") else { return nil }
        var values: [SettingsChange.Value] = []
        for setting in SettingsChange.Setting.allCases {
            guard let value = try changed.integer(setting.rawValue, in: setting.range) else { continue }
            values.append(SettingsChange.Value(setting, UInt32(value)))
        }
        let time = try TimeLimit(changed, "for") ?? .forever
        try changed.finish()
        guard !values.isEmpty else {
            throw changed.error(
                "changes nothing; write a value, such as 'maxConcurrentStreams: 1' or 'initialWindowSize: 0'")
        }
        return SettingsChange(values, time: time)
    }

    private static func window(_ reader: YAMLReader) throws(YAMLError) -> WindowLimit? {
        let range = 0...Int(SessionSettings().initialWindowSize)
        guard reader.isMapping("window"), let full = try reader.mapping("window") else {
            return try reader.integer("window", in: range).map { WindowLimit(bytes: $0) }
        }
        let bytes = try full.required("bytes") { (name) throws(YAMLError) in
            try full.integer(name, in: range)
        }
        let time = try TimeLimit(full, "for") ?? .forever
        try full.finish()
        return WindowLimit(bytes: bytes, time: time)
    }

    private static func expiredCertificates(_ reader: YAMLReader) throws(YAMLError) -> Int {
        guard try reader.string("expiredCertificate") != "next" else { return 1 }
        return try reader.integer("expiredCertificate", in: 1...Limits.expiredCertificates) ?? 0
    }
}

extension TimeLimit {
    /// Reads a time, or `forever`; nil if the setting is missing.
    fileprivate init?(_ reader: YAMLReader, _ name: String) throws(YAMLError) {
        if try reader.string(name) == "forever" {
            self = .forever
            return
        }
        guard let time = try reader.milliseconds(name, in: 1...Limits.ruleMilliseconds) else { return nil }
        self = .milliseconds(time)
    }
}

extension DeviceEffect {
    init?(_ reader: YAMLReader) throws(YAMLError) {
        guard let full = try reader.mapping("device") else { return nil }
        let range = 1...Limits.ruleMilliseconds
        var found: [(name: String, effect: DeviceEffect)] = []
        if let time = try full.milliseconds("offline", in: range) {
            found.append(("offline", .offline(time)))
        }
        if let time = try full.milliseconds("slow", in: range) { found.append(("slow", .slow(time))) }
        if let time = try full.milliseconds("acknowledgesLate", in: range) {
            found.append(("acknowledgesLate", .acknowledgesLate(time)))
        }
        if try full.boolean("disconnects") == true { found.append(("disconnects", .disconnects)) }
        try full.finish()
        guard let first = found.first else {
            throw full.error("does nothing; write one of offline, slow, acknowledgesLate, disconnects")
        }
        guard found.count < 2 else {
            throw full.error(
                found[1].name, "and '\(first.name)' contradict each other; a rule does one of them, keep one")
        }
        self = first.effect
    }
}
