import Glibc
import PostriderNotifications

extension DevFolder {
    /// The ports of a relay.
    struct Ports {
        let provider: UInt16
        let development: UInt16
        let device: UInt16
    }

    /// What a client needs to use a relay with the keys and certificates of this folder.
    ///
    /// - Parameters:
    ///   - controlSocket: the path of the relay's control socket.
    ///   - process: the process number of what ends the relay.
    func values(
        _ ports: Ports, _ topics: [Topic], _ place: DevPlace, controlSocket: String,
        process: Int32 = getpid()
    ) throws -> DevValues {
        DevValues(
            host: place.host,
            names: place.names,
            providerPort: ports.provider,
            developmentProviderPort: ports.development,
            devicePort: ports.device,
            authorityFile: authorityFile,
            keyFile: providerKeyFile,
            keyIdentifier: Self.keyIdentifier,
            providerCertificateFile: providerCertificateFile,
            providerCertificateKeyFile: providerCertificateKeyFile,
            providerRSACertificateFile: providerRSACertificateFile,
            providerRSACertificateKeyFile: providerRSACertificateKeyFile,
            team: Self.team,
            topics: topics.map(\.text),
            enrolmentKey: try enrolmentKey(),
            enrolmentKeyFile: enrolmentKeyFile,
            controlAddress: "unix:" + controlSocket,
            process: process
        )
    }
}
