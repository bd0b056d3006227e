// A push service that the operator has set up: which key, for which apps, where the service is.
//
// Read from the file of `cumulusd --pushes`, the same on all nodes. A mistake in it is told with
// its place; nothing in it is ignored, since a misspelt key would push to nobody.
//
// Folder: what is sent to push services, and what their answers mean, without I/O. Read `PushEntry`
// and `PushSetup`, then `PushNews` for what a device is told, then `APNsPush`, `WebPush` with
// `WebPushCipher`, and `FCMPush`.

package import CumulusModel

/// One element of the file.
package struct PushEntry: Hashable, Sendable {
    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package var service: PushService
    /// The containers whose users' devices it wakes; nil means all.
    package var containers: Set<String>?
    /// The file with the service's key.
    package var keyFile: String
    /// APNs: the key's id.
    package var keyID = ""
    /// APNs: the id of the developer's team.
    package var teamID = ""
    /// APNs: bundle ids of apps that the key is for.
    package var topics: [String] = []
    /// Web Push: whom a push service may ask about the operator's pushes, mailto: or https:.
    package var subject = ""
    /// Web Push: where addresses may lead.
    package var hosts: [PushHost] = []
    /// Where the service is, in place of its usual address; not for Web Push.
    package var url: WebAddress?
    /// PEM file with the authorities that vouch for the service, in place of the system's.
    package var authority: String?

    /// Whether it is for a container.
    package func serves(_ container: String) -> Bool {
        containers?.contains(container) ?? true
    }

    // MARK: The file

    private static let common: Set = ["service", "keyFile", "containers", "authority"]

    private static func keys(of service: PushService) -> Set<String> {
        switch service {
        case .apns: common.union(["keyID", "teamID", "topics", "url"])
        case .webPush: common.union(["subject", "hosts"])
        case .fcm: common.union(["url"])
        }
    }

    /// - Parameter text: A JSON list of objects.
    package static func entries(_ text: Bytes) throws(Problem) -> [PushEntry] {
        do throws(WebError) {
            var entries: [PushEntry] = []
            for object in try WebObject.list(text, of: "push services") {
                let entry = try PushEntry(object)
                guard !entries.contains(where: { $0.isRival(of: entry) }) else {
                    throw .badRequest(
                        "'\(object.path)': \(entry.service.name) is set up twice for one container"
                    )
                }
                entries.append(entry)
            }
            return entries
        } catch {
            throw Problem(error.reason)
        }
    }

    private func isRival(of other: PushEntry) -> Bool {
        guard service == other.service else { return false }
        guard let containers, let others = other.containers else { return true }
        return !containers.isDisjoint(with: others)
    }

    private init(_ object: WebObject) throws(WebError) {
        let name = try object.needed("service")
        guard let service = PushService.allCases.first(where: { $0.name == name }) else {
            let known = PushService.allCases.map(\.name).joined(separator: ", ")
            throw .badRequest("'\(object.place("service"))' must be one of \(known)")
        }
        self.service = service
        try object.check(keys: PushEntry.keys(of: service))
        keyFile = try object.needed("keyFile")
        authority = try object.string("authority")
        let containers = try object.containers()
        self.containers = containers.map { Set($0) }
        switch service {
        case .apns: try readAPNs(object)
        case .webPush: try readWebPush(object)
        case .fcm: break
        }
        if let text = try object.string("url") {
            guard let address = WebAddress(text), address.isSecret, address.path.isEmpty,
                address.query == nil
            else {
                throw .badRequest(
                    "'\(object.place("url"))' must be https, a host and a port, such as "
                        + "https://push.example.com:443; http is for this machine only"
                )
            }
            url = address
        }
    }

    private mutating func readAPNs(_ object: WebObject) throws(WebError) {
        keyID = try object.needed("keyID")
        teamID = try object.needed("teamID")
        topics = try object.strings("topics") ?? []
        guard !topics.isEmpty, topics.allSatisfy(PushEntry.isName) else {
            throw .badRequest(
                "'\(object.place("topics"))' must list the bundle ids of the apps, such as "
                    + "com.example.notes"
            )
        }
        guard PushEntry.isName(keyID), PushEntry.isName(teamID) else {
            throw .badRequest(
                "'\(object.place("keyID"))' and '\(object.place("teamID"))' have letters and "
                    + "digits, as Apple's pages show them"
            )
        }
    }

    private mutating func readWebPush(_ object: WebObject) throws(WebError) {
        subject = try object.needed("subject")
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw .badRequest(
                "'\(object.place("subject"))' must begin with mailto: or https://, such as "
                    + "mailto:push@example.com"
            )
        }
        hosts = try object.strings("hosts")?.map { PushHost($0) } ?? PushHost.usual
        guard hosts.allSatisfy({ PushEntry.isName($0.name) && $0.port > 0 }) else {
            throw .badRequest(
                "'\(object.place("hosts"))' must list names such as push.example.com, or "
                    + "*.example.com for all below it, with a port unless it is 443"
            )
        }
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255
            && text.utf8.allSatisfy { byte in
                byte.isASCIILetter || byte.isASCIIDigit || "-_.".utf8.contains(byte)
            }
    }
}
