package import PostriderCluster
package import PostriderCourier
import PostriderNotifications

/// The first message of each side on a link between two nodes (docs/internals/node-links.proto).
package struct NodeGreeting: CourierMessage {
    /// The version of the protocol between nodes that the sender speaks.
    package let version: UInt32
    /// What identifies the cluster's database.
    package let cluster: String
    /// The sender's name, as it was sent.
    package let name: String
    /// The number of the sender's membership (``ClusterNode/generation``).
    package let generation: Int64
    /// The number of partitions in the sender's database.
    package let partitions: UInt32

    /// The version of this program. Nodes whose versions differ by one understand each other, so that a cluster can be
    /// upgraded node by node.
    package static let currentVersion: UInt32 = 1

    /// Creates a greeting from its parts.
    package init(
        version: UInt32 = currentVersion, cluster: String, name: NodeName, generation: Int64,
        partitions: UInt32 = UInt32(Partition.count)
    ) {
        self.version = version
        self.cluster = cluster
        self.name = name.text
        self.generation = generation
        self.partitions = partitions
    }

    /// Decodes the message.
    package init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (version, partitions, generation) = (UInt32(0), UInt32(0), Int64(0))
        var (cluster, name) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: version = UInt32(clamping: try field.uint64())
            case 2: cluster = try field.text(in: bytes)
            case 3: name = try field.text(in: bytes)
            case 4: generation = try field.int64()
            case 5: partitions = UInt32(clamping: try field.uint64())
            default: break
            }
        }
        self.version = version
        self.cluster = cluster
        self.name = name
        self.generation = generation
        self.partitions = partitions
    }

    /// Appends the encoded message.
    package func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(version))
        output.appendField(2, cluster)
        output.appendField(3, name)
        output.appendField(4, UInt64(bitPattern: generation))
        output.appendField(5, UInt64(partitions))
    }

    /// The name of the sender of a greeting that this node accepts.
    ///
    /// - Parameters:
    ///   - own: this node's greeting.
    ///   - expected: the node that was dialled; nil for a link that the other node has opened.
    ///   - isCertified: whether the other end has a certificate of the cluster's authority for a name.
    /// - Throws: one sentence that says why the link cannot be, and what to do.
    package func check(
        against own: NodeGreeting, expected: NodeName?, isCertified: (String) -> Bool
    ) throws(NodeRefusal) -> NodeName {
        guard let name = NodeName(name) else {
            throw NodeRefusal("A node greets with a name that cannot be one: set node-name there.")
        }
        guard isCertified(name.text) else {
            throw NodeRefusal(
                "The node that calls itself \(name) has no valid certificate for that name from the "
                    + "cluster's authority: issue one with 'postrider certificates make --node \(name)'.")
        }
        guard name.text != own.name else {
            throw NodeRefusal(
                "Two nodes are called \(name): give each a node-name, and a certificate, of its own.")
        }
        if let expected, expected != name {
            throw NodeRefusal(
                "The address of node \(expected) leads to node \(name): correct cluster-address of "
                    + "\(expected)."
            )
        }
        guard max(version, own.version) - min(version, own.version) <= 1 else {
            throw NodeRefusal(
                "Node \(name) speaks version \(version) of the protocol between nodes, and \(own.name) "
                    + "version \(own.version): only versions that follow each other can run side by side.")
        }
        guard cluster == own.cluster else {
            throw NodeRefusal(
                "Node \(name) uses the database of another cluster than \(own.name): give both the same "
                    + "store."
            )
        }
        guard partitions == own.partitions else {
            throw NodeRefusal(
                "The database of node \(name) has \(partitions) partitions, and that of \(own.name) "
                    + "\(own.partitions): they are not the same database.")
        }
        return name
    }
}

/// Why two nodes have no link: one sentence for the logs of both.
package struct NodeRefusal: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    package let description: String

    /// The sentence without its full stop.
    var clause: Substring { description.dropLast(description.hasSuffix(".") ? 1 : 0) }

    /// Creates a refusal with this sentence.
    package init(_ sentence: String) { description = sentence }

    /// The refusal of another node, without characters that could forge a line of a log.
    init(quoting clause: [UInt8]) {
        let bytes = clause.prefix(Limits.nodeRefusalBytes).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }
        self.init(String(decoding: bytes, as: UTF8.self) + ".")
    }
}
