// A user's refusals in the last day, from the node's audit log.
//
// Read from the file, which no call of the protocol tells; so it is this node's log alone.

import CumulusModel

extension ConsoleCall {
    private static let day: Int64 = 24 * 3_600_000
    private static let mostRefusals = 200

    /// The refusals of the user with that name and id.
    func refusals() async throws -> ConsoleReply {
        try await checkOperator()
        let name = try values.needed("user")
        let id = try values.string("id") ?? ""
        let lines = sources.auditLines?() ?? []
        let since = door.now - ConsoleCall.day
        let found = lines.reversed().lazy.compactMap { try? JSONReader.read($0) }.filter { line in
            guard case .integer(let time)? = line["time"], time >= since,
                case .integer(let code)? = line["code"], code != 0
            else { return false }
            return ConsoleCall.isAbout(line, name: name, id: id)
        }
        return .json([
            .init("isKept", .bool(sources.auditLines != nil)),
            .init("refusals", .array(found.prefix(ConsoleCall.mostRefusals).map(ConsoleCall.told))),
        ])
    }

    /// Whether the user made the call, or the call was to sign in as the user.
    private static func isAbout(_ line: JSON, name: String, id: String) -> Bool {
        if case .string(let caller)? = line["id"], !id.isEmpty { return caller == id }
        guard case .string(let target)? = line["target"] else { return false }
        return target == name || target.hasPrefix(name + ":")
    }

    private static func told(_ line: JSON) -> JSON {
        var reason = ""
        if case .integer(let number)? = line["code"], let raw = UInt32(exactly: number),
            let code = ServiceError.Code(rawValue: raw)
        {
            reason = "\(code)"
        }
        let keys = ["time", "method", "container", "target", "address", "code"]
        let members = keys.map { JSON.Member($0, line[$0] ?? .null) }
        return .object(members + [.init("reason", .string(reason))])
    }
}
