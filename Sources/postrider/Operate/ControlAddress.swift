import FoundationEssentials
import PostriderCommands
import PostriderOptions
import PostriderTransport

/// Finds the relay's control socket for an operator's command.
enum ControlAddress {
    /// The options that every operator's command has.
    static let options: [Option] = [
        .value(
            "control", "unix:PATH",
            "The relay's control socket; if not given, that of the named configuration, of 'postrider dev' "
                + "in this directory, or of the usual configuration."
        ),
        Settings.fileOption,
    ]

    /// These options and the one for the folder of `postrider dev`, for commands in which `--directory` means nothing
    /// else.
    static let folderOptions: [Option] =
        options + [
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of 'postrider dev' whose relay is used; if no other is given, "
                    + "\(DevFolder.usualPath) if it exists.")
        ]

    /// Returns the first of these that exists: `--control`; the setting in the environment or in a named
    /// configuration file; the relay of `postrider dev` in this directory; the default configuration file.
    ///
    /// - Parameter devFolder: the folder of `postrider dev` in this directory; nil if there is none.
    static func find(
        _ options: ParsedOptions, environment: [String: String], devFolder: DevFolder?,
        readFile: (String) throws -> String?
    ) throws -> SocketAddress {
        if let text = options.string("control") {
            guard let address = try? SocketAddress(text), address.unixPath != nil else {
                throw options.error("--control must be unix: and the path of a socket, not '\(text)'")
            }
            return address
        }
        let settings = try Settings(options: options, environment: environment, readFile: readFile)
        let isSet = settings[.controlAddress] != nil || settings[.dataDirectory] != nil
        if isSet, settings.isChosen { return try settings.controlAddress() }
        if let devFolder { return try SocketAddress(unixPath: devFolder.controlSocket) }
        if isSet { return try settings.controlAddress() }
        throw options.knowingNo("relay", give: "--control unix:PATH")
    }

    /// The data directory of the relay that ``find(_:)`` finds, for commands that read its files. `--control` is no
    /// option of theirs.
    static func dataDirectory(_ options: ParsedOptions) throws -> String {
        let named = options.string("directory")
        let folder = DevFolder(named ?? DevFolder.usualPath)
        let isThere = FileManager.default.fileExists(atPath: folder.path)
        if named != nil, !options.isSet(Settings.fileOption.name) {
            guard isThere else { throw options.withoutDev(in: folder.path) }
            return folder.dataDirectory
        }
        let settings = try Settings(options: options)
        if settings.isChosen || !isThere { return try settings.texts.required(.dataDirectory) }
        return folder.dataDirectory
    }

    /// Finds the control socket for this user, directory and environment. `--control` and `--config` win over
    /// `--directory`, which wins over all else.
    static func find(_ options: ParsedOptions) throws -> SocketAddress {
        let takesFolder = options.table.options.contains { $0.name == "directory" }
        if takesFolder, let named = options.string("directory"), !options.isSet("control"),
            !options.isSet(Settings.fileOption.name)
        {
            let folder = DevFolder(named)
            guard FileManager.default.fileExists(atPath: folder.path) else {
                throw options.withoutDev(in: folder.path)
            }
            return try SocketAddress(unixPath: folder.controlSocket)
        }
        let folder = DevFolder(DevFolder.usualPath)
        return try find(
            options, environment: ProcessInfo.processInfo.environment,
            devFolder: FileManager.default.fileExists(atPath: folder.path) ? folder : nil,
            readFile: FileText.readIfThere)
    }
}
