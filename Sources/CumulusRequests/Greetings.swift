// The greeting of a caller, and the header of its calls.
//
// `connection.proto`. Called by the node's side of a connection. hot: once per call.

import CCumulusWire
package import CumulusModel
package import CumulusWire

extension Hello {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__hello__unpack)
        let raw = message.raw
        self.init()
        protocolVersion = raw.protocol_version
        role = UInt32(raw.role.rawValue)
        software = raw.software.swiftText
        softwareVersion = raw.software_version.swiftText
        container = raw.container.swiftBytes
        environment = UInt32(raw.environment.rawValue)
        deviceID = raw.device_id.swiftBytes
        token = raw.token.swiftBytes
        largestFrame = raw.largest_frame
        features = Features(rawValue: raw.features)
        nodeID = raw.node_id.swiftBytes
        clusterID = raw.cluster_id.swiftBytes
        nonce = raw.nonce.swiftBytes
        proof = raw.proof.swiftBytes
        endpoint = raw.endpoint.swiftText
        incarnation = raw.incarnation
        keyID = raw.key_id.swiftBytes
        signature = raw.signature.swiftBytes
    }
}

extension CallHeader {
    /// Splits the payload of a CALL frame.
    package static func split(
        _ payload: Bytes
    ) throws(MalformedMessage) -> (header: CallHeader, message: Bytes) {
        var reader = CanonicalReader(payload)
        let range: Range<Int>
        do {
            range = try reader.delimited()
        } catch {
            throw MalformedMessage(message: "a call's header is cut off")
        }
        let header = try CallHeader(wire: payload[range])
        return (header, Bytes(payload[reader.position...]))
    }

    private init(wire bytes: ArraySlice<UInt8>) throws(MalformedMessage) {
        let message = try CMessage(bytes, cumulus__v1__call_header__unpack)
        let raw = message.raw
        self.init()
        method = UInt32(raw.method.rawValue)
        timeout = raw.timeout_ms
        requestID = raw.request_id.swiftBytes
        causalTokens = elements(raw.n_causal_tokens, raw.causal_tokens).map(\.swiftBytes)
        traceContext = raw.trace_context.swiftBytes
        container = raw.container.swiftBytes
        environment = UInt32(raw.environment.rawValue)
        if raw.has_replicas_case == CUMULUS__V1__CALL_HEADER__HAS_REPLICAS_REPLICAS {
            replicas = raw.replicas
        }
    }
}
