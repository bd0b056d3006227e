// The client library's container of a CloudKit container, made when it is first used.
//
// Held by `CKContainer`. All containers of one name share a client, and thus its connections. When
// the process's connection changes, the next call makes another client.

internal import Cumulus
internal import CumulusModel
internal import Foundation
internal import Synchronization

final class ContainerClient: Sendable {
    /// Nil means the container that the connection names.
    let identifier: String?
    /// Nil means the process's connection, which may change.
    private let fixed: CumulusConnection?
    private let made = Mutex<Made?>(nil)
    private let badge = Mutex(0)

    private struct Made: Sendable {
        let connection: CumulusConnection
        let container: Container
    }

    init(_ identifier: String?, _ connection: CumulusConnection? = nil) {
        self.identifier = identifier
        fixed = connection
    }

    // MARK: - The process's clients

    private static let clients = Mutex<[String?: ContainerClient]>([:])

    /// The client of a container over the process's connection.
    static func shared(_ identifier: String?) -> ContainerClient {
        clients.withLock { clients in
            if let client = clients[identifier] { return client }
            let client = ContainerClient(identifier)
            clients[identifier] = client
            return client
        }
    }

    private static let current = Mutex<Result<CumulusConnection, ServiceError>?>(nil)

    /// The process's connection: what was set in code, or what the settings say.
    static var connection: Result<CumulusConnection, ServiceError> {
        get {
            current.withLock { current in
                if let current { return current }
                let found = Result { () throws(ServiceError) in
                    try ConnectionFile.system.connection()
                }
                current = found
                return found
            }
        }
        set {
            let previous = connection
            current.withLock { $0 = newValue }
            guard let now = try? newValue.get(), let before = try? previous.get(),
                now.hasOtherAccount(than: before)
            else { return }
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        }
    }

    // MARK: - This client

    /// The name of the container; nil if neither code nor settings give one.
    var containerIdentifier: String? {
        identifier ?? (try? connection().containerIdentifier)
    }

    private func connection() throws(ServiceError) -> CumulusConnection {
        if let fixed { return fixed }
        return try ContainerClient.connection.get()
    }

    /// The client library's container.
    ///
    /// - Throws: `missingEntitlement` if no container is named; what is wrong with the
    ///   settings.
    func container() throws(ServiceError) -> Container {
        let connection = try connection()
        guard let name = identifier ?? connection.containerIdentifier else {
            throw ServiceError(
                .missingEntitlement,
                """
                the app doesn't say which container it uses; set CUMULUS_CONTAINER, or call \
                CKContainer(identifier:)
                """
            )
        }
        if let made = made.withLock({ $0 }), made.connection == connection {
            return made.container
        }
        let configuration = try connection.configuration()
        let next = Made(
            connection: connection,
            container: Container(identifier: name, configuration: configuration)
        )
        let (container, old) = made.withLock { made -> (Container, Container?) in
            // Another call may have made it meanwhile.
            if let made, made.connection == connection {
                return (made.container, next.container)
            }
            let old = made?.container
            made = next
            return (next.container, old)
        }
        if let old { Task { await old.close() } }
        return container
    }

    // MARK: - The badge

    /// Sets the number on the app's icon.
    func setBadge(_ number: Int) { badge.withLock { $0 = number } }

    /// Counts the number on the app's icon up, and returns it.
    func addBadge() -> Int {
        badge.withLock { number in
            number += 1
            return number
        }
    }

    /// Ends the connections; the next call makes others.
    func close() async {
        let old = made.withLock { made in
            defer { made = nil }
            return made?.container
        }
        await old?.close()
    }
}
