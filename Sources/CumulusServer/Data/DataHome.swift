// The directory of a node's data: the store, the operator's token and the cluster's key beside it.
//
// Only the user who runs the node may look into it. Where the store is in a database, see
// `DatabaseSecrets`.
//
// Folder: a node's data, and backups of it. Read `DataHome`, then `DatabaseSecrets` and `Backup`.

import CumulusModel
import CumulusNode
import CumulusSystem

struct DataHome {
    let path: String
    /// Directories that were missing, the outer ones first.
    private var made: [String] = []
    /// The names that were there before.
    private let found: Set<String>

    /// Makes the directory where it is missing; its parents too.
    init(_ path: String) throws {
        self.path = path
        if path.isEmpty { throw StartProblem(\.node.data, "name a directory") }
        var place = path.hasPrefix("/") ? "" : "."
        for name in path.split(separator: "/") {
            place += "/\(name)"
            if mkdir(place, 0o700) == 0 {
                made.append(place)
                continue
            }
            if errno == EEXIST || Files.isDirectory(place) { continue }
            throw StartProblem(\.node.data, "\(path) can't be made: \(systemText())")
        }
        guard Files.isDirectory(path) else {
            throw StartProblem(\.node.data, "\(path) is not a directory")
        }
        found = Set((try? Files.names(in: path)) ?? [])
    }

    /// Removes what a first start has made that failed, so that the next one is a first start too.
    ///
    /// A directory that had a store before, or belongs to one in a database, stays as it is.
    func abandon() {
        guard !found.contains("store"), databaseName == nil else { return }
        for name in (try? Files.names(in: path)) ?? [] where !found.contains(name) {
            try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        for place in made.reversed() { rmdir(place) }
    }

    var store: String { path + "/store" }
    /// Whether a node was started here before.
    var hasStore: Bool { hasFiles || databaseName != nil }
    /// Whether the rows of a node are here.
    var hasFiles: Bool { Files.isDirectory(store) }
    var databaseFile: String { path + "/database" }
    /// The name of the store in a database to which the directory belongs; nil if it belongs to no
    /// database.
    var databaseName: String? {
        (try? String(contentsOfFile: databaseFile, encoding: .utf8))?.trimmed
    }
    var assets: String { path + "/assets" }
    var tokenFile: String { path + "/operator.token" }
    var keyFile: String { path + "/cluster.key" }

    /// Refuses to begin with an empty store where a node has been.
    func checkStore() throws {
        let manager = FileManager.default
        let isThere = manager.fileExists(atPath: store)
        let names = try? manager.contentsOfDirectory(atPath: store)
        guard manager.fileExists(atPath: tokenFile), !isThere || names?.isEmpty == true else {
            return
        }
        throw StartProblem(
            """
            \(store) is gone, and a node has been here: bring it back, or start in an empty \
            directory with --from-backup; or delete \(tokenFile) to begin with an empty node, \
            which fetches what its peers have
            """
        )
    }

    /// The token in `operator.token`; a new one is written at the first start, readable by its
    /// owner only.
    func operatorToken(_ environment: NodeEnvironment) throws -> [UInt8] {
        let file = tokenFile
        if let text = try? String(contentsOfFile: file, encoding: .utf8) {
            try checkPrivacy(of: file, "operator.token")
            let token = text.trimmed
            guard token.count >= 32 else {
                throw StartProblem(
                    "\(file) holds no token; delete it and start again to get a new one"
                )
            }
            return Array(token.utf8)
        }
        var dice = NodeDice(environment)
        let token = "cumulus_operator_" + dice.bytes(32).hex
        try write(token + "\n", to: file)
        return Array(token.utf8)
    }

    /// The 32 bytes of a key file; without such a file, the bytes of `cluster.key`.
    ///
    /// The first start writes `cluster.key` and sets `isNew`.
    ///
    /// Any program that reads it can join the cluster, so a file that others may read is refused.
    func clusterKey(
        _ named: String,
        _ environment: NodeEnvironment
    ) throws -> (key: [UInt8], isNew: Bool) {
        let file = named.isEmpty ? keyFile : named
        guard FileManager.default.fileExists(atPath: file) else {
            guard named.isEmpty else {
                throw StartProblem(
                    \.cluster.key,
                    "\(file) does not exist; copy it from another node"
                )
            }
            guard !hasStore else {
                throw StartProblem(
                    """
                    \(file) is missing and there is a store already; copy it back from a \
                    backup or from another node of the cluster
                    """
                )
            }
            var dice = NodeDice(environment)
            let key = dice.bytes(32)
            try write(key.hex + "\n", to: file)
            return (key, isNew: true)
        }
        try checkPrivacy(of: file, Settings.table.cluster.key.row.name)
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return (try DataHome.clusterKey(text.trimmed, in: file), isNew: false)
    }

    /// The 32 bytes of a key's text.
    ///
    /// - Parameter place: Where the text stands.
    static func clusterKey(_ text: String, in place: String) throws -> [UInt8] {
        guard let key = Bytes(hex: text), key.count == 32 else {
            throw StartProblem(\.cluster.key, "\(place) does not hold 64 hexadecimal digits")
        }
        return key
    }

    private func checkPrivacy(of file: String, _ name: String) throws {
        guard let permissions = Files.permissions(of: file), permissions & 0o077 == 0 else {
            throw StartProblem("\(name): others may read \(file); say 'chmod 600 \(file)'")
        }
    }

    /// Durable before the node is ready: the file is flushed, and so is the directory that names
    /// it.
    func write(_ text: String, to file: String) throws {
        do {
            try Files.replace(file, with: Bytes(text.utf8))
        } catch {
            throw StartProblem("\(file) can't be written: \(error)")
        }
    }
}
