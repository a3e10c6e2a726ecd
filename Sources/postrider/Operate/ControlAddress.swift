import FoundationEssentials
import PostriderOptions
import PostriderTransport

/// Where an operator's command finds the relay.
enum ControlAddress {
    /// The options of every operator's command.
    static let options: [Option] = [
        .value(
            "control", "unix:PATH",
            "The relay's control socket; if not given, the configuration's, or that of 'postrider dev' here."
        ),
        Settings.fileOption,
    ]

    /// The first of these that there is: `--control`; what the environment or a named configuration file says; the
    /// relay of `postrider dev` in this directory; the usual configuration file.
    ///
    /// - Parameter devFolder: the folder of `postrider dev` in this directory, nil where there is none.
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

    /// Where the relay of this user is, in this directory and environment.
    static func find(_ options: ParsedOptions) throws -> SocketAddress {
        let folder = DevFolder(DevFolder.usualPath)
        return try find(
            options, environment: ProcessInfo.processInfo.environment,
            devFolder: FileManager.default.fileExists(atPath: folder.path) ? folder : nil,
            readFile: FileText.readIfThere)
    }
}
