// How connections of the bench greet a node that are no client library: idle ones, and followers.

import CumulusModel
import CumulusWire

extension Hello {
    /// The greeting of an anonymous client, in the container's development.
    init(ofBenchIn container: String) {
        self.init()
        software = "cumulus-bench"
        softwareVersion = Release.version
        self.container = Bytes(container.utf8)
        environment = UInt32(Environment.development.rawValue)
    }
}
