// `cumulus cluster join`: the settings of a new node, from what a member says of the others.

import ArgumentParser
import Cumulus
import CumulusSystem
import CumulusTerminal

extension ClusterCommand {
    struct Join: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the settings of a new node of the cluster; starting it does the rest.",
            discussion: help(
                """
                cumulus cluster join node3.json --cluster-key cluster.key --data node3 \
                --listen 127.0.0.1:7423 --token-file operator.token
                """,
                note: """
                    The cluster's key is DATA/cluster.key of any member, or what 'cumulus cluster \
                    init' made: copy it to the new node's machine. If the file is on this one, it \
                    must hold the key of the member that is asked. That member tells the others' \
                    addresses; the new node takes over the state of one of them, and lets \
                    clients in then. If that member is asked over TLS, the settings name \
                    the authority that you name, and the new node's certificate and key: those \
                    that 'cumulus cluster certificate' makes beside the authority, unless you \
                    name others.
                    """
            )
        )

        @Argument(help: "The file of settings to make.") var file: String
        @Option(help: "File with the cluster's key, on the new node's machine.")
        var clusterKey: String
        @Option(help: "Directory of the new node's data.") var data: String
        @Option(help: "Where the new node listens.", transform: NodeOptions.address)
        var listen = "127.0.0.1:7420"
        @Option(
            help: "Where others reach it, if it listens on all addresses.",
            transform: NodeOptions.address
        )
        var advertise: String?
        @Option(help: "File with the new node's certificate, on its machine.")
        var tlsCertificate: String?
        @Option(help: "File with the key of that certificate, on its machine.")
        var tlsKey: String?
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if advertise == nil, Container.Configuration.isWildcard(listen) {
                throw ValidationError(
                    "--listen \(listen) is all addresses: name with --advertise the one at which "
                        + "others reach the new node."
                )
            }
            guard (tlsCertificate == nil) == (tlsKey == nil) else {
                throw ValidationError(
                    "--tls-certificate and --tls-key belong together: name both, or none."
                )
            }
        }

        func run() async throws {
            guard !FileManager.default.fileExists(atPath: file) else {
                throw InputProblem("\(file) exists: a node may be using it; name another file")
            }
            let cluster = try KeyFile.cluster(of: clusterKey)
            let (status, members) = try await connection.withOperator { node in
                (try await node.status(), try await node.members())
            }
            guard cluster == nil || cluster == status.clusterID else {
                throw InputProblem(
                    "\(clusterKey) is not the key of that member's cluster; copy its "
                        + "DATA/cluster.key"
                )
            }
            let peers = self.peers(members)
            guard isLocal(listen) || !isLocal(peers[0]) else {
                throw InputProblem(
                    "that member is reached at \(peers[0]), on its own machine only; start it "
                        + "with --advertise, or name an address of it that others reach"
                )
            }
            guard !peers.contains(listen) else {
                throw InputProblem("a member listens on \(listen); choose another --listen")
            }
            var settings: [JSON.Member] = [
                .init("data", .string(data)), .init("listen", .string(listen)),
                .init("clusterKey", .string(clusterKey)),
                .init("peers", .string(peers.joined(separator: ","))),
            ]
            if let advertise { settings.append(.init("advertise", .string(advertise))) }
            let tls = try self.tls()
            settings += tls?.settings ?? []
            try KeyFile.write(JSON.object(settings).text, to: file)
            try output.show(
                ["settings": .string(file), "peers": .array(peers.map(JSON.string))],
                rows: [["made \(file)"]]
                    + (cluster == nil ? [["copy the cluster's key to \(clusterKey) there"]] : [])
                    + (tls?.missing.map {
                        [["make \($0) there, or copy it: see 'cumulus cluster certificate'"]]
                    } ?? [])
                    + [["start the node: cumulusd --config \(file)"]]
            )
        }

        /// Files with which the new node speaks TLS.
        private struct TLSFiles {
            let authority: String?
            let certificate: String
            let key: String

            var settings: [JSON.Member] {
                [
                    .init("tlsCertificate", .string(certificate)), .init("tlsKey", .string(key)),
                ] + (authority.map { [.init("tlsAuthority", .string($0))] } ?? [])
            }

            /// The certificate and key files that are missing on this machine; nil if none is.
            var missing: String? {
                let files = [certificate, key].filter {
                    !FileManager.default.fileExists(atPath: $0)
                }
                return files.isEmpty ? nil : files.joined(separator: " and ")
            }
        }

        /// nil: the member was asked over plain TCP, and no certificate is named.
        private func tls() throws -> TLSFiles? {
            let asked = try connection.nodes.configuration(timeout: 0)
            let isEncrypted =
                switch asked.tls {
                case .always: true
                case .never: false
                case .automatic: asked.authority != nil || !isLocal(asked.endpoints[0])
                }
            guard isEncrypted || tlsCertificate != nil else { return nil }
            let folder = asked.authority.map(folder(of:)) ?? "certificates"
            let name = folder.isEmpty ? host : "\(folder)/\(host)"
            return TLSFiles(
                authority: asked.authority,
                certificate: tlsCertificate ?? "\(name).pem",
                key: tlsKey ?? "\(name).key"
            )
        }

        /// The folder that a path names; empty for the one that the command runs in.
        private func folder(of path: String) -> String {
            guard let slash = path.lastIndex(of: "/") else { return "" }
            return slash == path.startIndex ? "/" : String(path[..<slash])
        }

        /// The host by which others reach the new node.
        private var host: String {
            let endpoint = advertise ?? listen
            let host = endpoint[..<(endpoint.lastIndex(of: ":") ?? endpoint.endIndex)]
            return host.filter { $0 != "[" && $0 != "]" }
        }

        /// The addresses of members, the asked one first, as each announces it or as it was called.
        private func peers(_ members: [NodeOperator.Member]) -> [String] {
            let others = members.filter { !$0.isThis && !$0.isRemoved }.map(\.endpoint)
            let said = members.first(where: \.isThis)?.endpoint ?? ""
            let first = said.isEmpty || isLocal(said) ? connection.nodes.endpoints[0] : said
            return [first] + others.filter { !$0.isEmpty }.sorted()
        }

        /// Nobody else reaches it.
        private func isLocal(_ endpoint: String) -> Bool {
            let host = endpoint.prefix(upTo: endpoint.lastIndex(of: ":") ?? endpoint.endIndex)
            return ["localhost", "[::1]"].contains(host) || host.hasPrefix("127.")
        }
    }
}
