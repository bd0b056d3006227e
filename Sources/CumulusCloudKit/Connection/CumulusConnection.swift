// How CloudKit's containers reach a Cumulus server: from code, from the environment, or from a
// file.
//
// Read by `ContainerClient` when a container is first used.
//
// Folder: from settings to the client library. Read `CumulusConnection`, then `ConnectionFile` and
// `ContainerClient`.

internal import Cumulus
internal import CumulusModel
internal import Foundation

/// Where the server is, which container is the app's, and who is signed in.
///
/// An app needs no code for it. `CKContainer.default()` reads the environment's variables, and
/// what they don't say from a file:
///
/// | Variable | Key in the file | Meaning |
/// | --- | --- | --- |
/// | `CUMULUS_ENDPOINT` | `endpoint` | addresses of nodes, with commas; 127.0.0.1:7420 |
/// | `CUMULUS_CONTAINER` | `container` | the container of `CKContainer.default()` |
/// | `CUMULUS_ENVIRONMENT` | `environment` | `development` or `production` |
/// | `CUMULUS_TOKEN` | `token` | the user's access token; without one no user is signed in |
/// | `CUMULUS_KEY`, `CUMULUS_KEY_ID` | `key`, `key-id` | a server's key, in place of a token |
/// | `CUMULUS_TLS` | `tls` | `automatic`, `always` or `never` |
/// | `CUMULUS_AUTHORITY` | `authority` | a PEM file of the nodes' authority |
/// | `CUMULUS_DEVICE` | `device` | names the device; a new name for each process |
/// | `CUMULUS_ENCRYPTION_KEY_FILE` | `encryption-key-file` | the key of encrypted fields |
/// | `CUMULUS_CLIENT_FILE` | | the file; `~/.config/cumulus/client.json` |
///
/// An app that signs users in by itself sets the connection in code:
///
/// ```swift
/// CKContainer.connection.accessToken = token
/// ```
public struct CumulusConnection: Hashable, Sendable {
    /// One of a container's two environments.
    public enum Environment: String, Hashable, Sendable {
        /// Types and fields appear as records are saved.
        case development
        /// Only what was deployed is taken.
        case production
    }

    /// Whether connections are encrypted.
    public enum TLS: String, Hashable, Sendable {
        /// All but those to this machine.
        case automatic
        /// All.
        case always
        /// The connection never uses TLS.
        case never
    }

    /// A server's key: the text of its PEM file, and its id.
    public struct Key: Hashable, Sendable {
        /// The id that `cumulus key add` showed.
        public var id: String
        /// The private key.
        public var pem: String

        /// A key that an operator registered.
        public init(id: String, pem: String) {
            self.id = id
            self.pem = pem
        }
    }

    /// Addresses of nodes, "host:port" or "host".
    public var endpoints: [String]
    /// The container of `CKContainer.default()`; nil if the app names its containers itself.
    public var containerIdentifier: String?
    /// The container's environment.
    public var environment = Environment.development
    /// The user's access token; nil means that no user is signed in.
    public var accessToken: String?
    /// A server's key, in place of a user's token.
    public var serverKey: Key?
    /// Whether connections are encrypted.
    public var tls = TLS.automatic
    /// A PEM file with the authorities of the nodes; nil means the system's.
    public var authority: String?
    /// Names this device: its own changes make no notifications on it.
    public var deviceID = CumulusConnection.processID
    /// Keys of encrypted fields, 64 hexadecimal digits each: the first seals, each may open.
    public var encryptionKeys: [String] = []
    /// Where downloaded assets are kept; nil means in the user's caches.
    public var assetDirectory: String?

    /// A connection to these nodes, without a user.
    public init(
        endpoints: [String] = ["127.0.0.1:7420"],
        containerIdentifier: String? = nil,
        accessToken: String? = nil
    ) {
        self.endpoints = endpoints
        self.containerIdentifier = containerIdentifier
        self.accessToken = accessToken
    }

    /// The name of a process that has no name of a device.
    private static let processID = UUID().uuidString

    /// Whether somebody else is signed in, or on another server.
    func hasOtherAccount(than other: CumulusConnection) -> Bool {
        accessToken != other.accessToken || serverKey != other.serverKey
            || endpoints != other.endpoints || environment != other.environment
    }

    /// The configuration of the client library.
    ///
    /// - Throws: `invalidArguments` for an address or a key that can't be one.
    func configuration() throws(ServiceError) -> Container.Configuration {
        var configuration = Container.Configuration(endpoints: endpoints)
        for text in endpoints where Container.Configuration.address(from: text) == nil {
            throw CumulusConnection.problem(
                "'\(text)' is no address; write \(Container.Configuration.addressForm)"
            )
        }
        configuration.environment = environment == .production ? .production : .development
        configuration.accessToken = accessToken
        configuration.tls =
            switch tls {
            case .automatic: .automatic
            case .always: .always
            case .never: .never
            }
        configuration.authority = authority
        configuration.deviceID = deviceID
        configuration.assetDirectory = assetDirectory
        if let serverKey {
            configuration.serviceKey = try ServiceKey(id: serverKey.id, pem: serverKey.pem)
        }
        for text in encryptionKeys {
            guard let key = EncryptionKey(text: text) else {
                throw CumulusConnection.problem(
                    "a key of encrypted fields has 64 hexadecimal digits; 'cumulus' makes one"
                )
            }
            configuration.encryptionKeys.append(key)
        }
        return configuration
    }

    static func problem(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}
