/// A file of the console's pages. All are in the program itself (`Sources/PostriderConsole/Pages`).
public struct ConsoleFile: Sendable {
    /// The media type, for `content-type`.
    public let type: String
    /// The contents.
    public let bytes: [UInt8]

    /// The file at this path, with or without a query; nil if there is none. `/` is the page itself.
    public init?(path: String) {
        guard let file = Self.files[String(path.prefix { $0 != "?" })] else { return nil }
        self = file
    }

    private init(_ type: String, _ bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }

    private static let (page, style) = ("text/html; charset=utf-8", "text/css; charset=utf-8")
    private static let (script, picture) = ("text/javascript; charset=utf-8", "image/svg+xml")

    private static let files: [String: ConsoleFile] = [
        "/": ConsoleFile(page, PackageResources.index_html),
        "/access.js": ConsoleFile(script, PackageResources.access_js),
        "/accessforms.js": ConsoleFile(script, PackageResources.accessforms_js),
        "/api.js": ConsoleFile(script, PackageResources.api_js),
        "/captures.js": ConsoleFile(script, PackageResources.captures_js),
        "/channels.js": ConsoleFile(script, PackageResources.channels_js),
        "/console.css": ConsoleFile(style, PackageResources.console_css),
        "/console.js": ConsoleFile(script, PackageResources.console_js),
        "/device.js": ConsoleFile(script, PackageResources.device_js),
        "/devices.js": ConsoleFile(script, PackageResources.devices_js),
        "/dialogs.js": ConsoleFile(script, PackageResources.dialogs_js),
        "/elements.js": ConsoleFile(script, PackageResources.elements_js),
        "/icon.svg": ConsoleFile(picture, PackageResources.icon_svg),
        "/jsoncheck.js": ConsoleFile(script, PackageResources.jsoncheck_js),
        "/nodes.js": ConsoleFile(script, PackageResources.nodes_js),
        "/overview.js": ConsoleFile(script, PackageResources.overview_js),
        "/plots.js": ConsoleFile(script, PackageResources.plots_js),
        "/pushes.js": ConsoleFile(script, PackageResources.pushes_js),
        "/pushlife.js": ConsoleFile(script, PackageResources.pushlife_js),
        "/send.js": ConsoleFile(script, PackageResources.send_js),
        "/tables.js": ConsoleFile(script, PackageResources.tables_js),
        "/words.js": ConsoleFile(script, PackageResources.words_js),
    ]
}
