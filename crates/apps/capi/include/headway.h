/* C interface of Headway: rate control and send queues for real-time media over UDP.
 *
 * Generated from crates/apps/capi/src; do not change it by hand.
 *
 * Functions return HEADWAY_CODE_OK or the reason why they did not succeed, which headway_last_error
 * describes. No function keeps a pointer to memory of the caller after its return. Texts are UTF-8
 * and end with a zero byte. Pointers to pointers are results: on success the caller owns the object
 * and frees it with the function that the comment names. Unless a comment says otherwise, results
 * are written on success only. Rates are in bit/s, times in us.
 *
 * Several threads may use an endpoint or a connection at the same time, but not options. No thread
 * may use an object while or after another one frees it.
 */

#ifndef HEADWAY_H
#define HEADWAY_H

#include <stddef.h>
#include <stdint.h>

// As a timeout: no timeout. As a lifetime: the datagram does not expire.
#define HEADWAY_UNLIMITED UINT64_MAX

// Size of the text of a fingerprint with its zero byte, in bytes.
#define HEADWAY_FINGERPRINT_SIZE 104

// Return code of a function.
enum HeadwayCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The function succeeded.
  HEADWAY_CODE_OK = 0,
  // Nothing happened within the timeout. This is not an error: `headway_last_error` does not change.
  HEADWAY_CODE_TIMEOUT = 1,
  // A required pointer is null.
  HEADWAY_CODE_NULL_POINTER = 2,
  // An argument is out of range, unknown or malformed.
  HEADWAY_CODE_INVALID_ARGUMENT = 3,
  // The datagram is larger than one packet on this path.
  HEADWAY_CODE_TOO_LARGE = 4,
  // The caller's buffer is too small.
  HEADWAY_CODE_BUFFER_TOO_SMALL = 5,
  // The connection or the socket is closed, or the connection has no statistics yet.
  HEADWAY_CODE_CLOSED = 6,
  // The operating system refused the operation.
  HEADWAY_CODE_SYSTEM = 7,
  // The library has a defect. Free the object of the call; all other objects can be used.
  HEADWAY_CODE_INTERNAL = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum HeadwayCode HeadwayCode;
#else
typedef int32_t HeadwayCode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Kind of an event.
enum HeadwayEventKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // An event of a newer version of the library.
  HEADWAY_EVENT_KIND_OTHER = 0,
  // The connection is established. At a client: the server has answered.
  HEADWAY_EVENT_KIND_CONNECTED = 1,
  // `fate` is what happened to the datagram with this `number`. A datagram has one event for each transmission
  // (`Sent`), and a last one with its outcome.
  HEADWAY_EVENT_KIND_DATAGRAM = 2,
  // An encoder should produce `rate` from now on.
  HEADWAY_EVENT_KIND_RATE = 3,
  // The controller has discrete rates, and the peer announced another one: index `number`, value `rate`.
  HEADWAY_EVENT_KIND_SCALE = 4,
  // The largest datagram that fits into one packet has `largest` bytes from now on.
  HEADWAY_EVENT_KIND_LARGEST = 5,
  // The peer's program no longer reads, so no more data is sent.
  HEADWAY_EVENT_KIND_PEER_NOT_LISTENING = 6,
  // The connection is closed for this `reason`, which `headway_last_error` describes. This is the last event.
  HEADWAY_EVENT_KIND_CLOSED = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum HeadwayEventKind HeadwayEventKind;
#else
typedef int32_t HeadwayEventKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Outcome of a datagram.
enum HeadwayFate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The event is about no datagram, or the outcome is one of a newer version of the library.
  HEADWAY_FATE_NONE = 0,
  // The datagram was sent. A later event reports whether it arrived.
  HEADWAY_FATE_SENT = 1,
  // The peer received the datagram.
  HEADWAY_FATE_DELIVERED = 2,
  // The datagram was lost on the path.
  HEADWAY_FATE_LOST = 3,
  // The peer received the datagram, and its program did not read it in time.
  HEADWAY_FATE_DROPPED = 4,
  // The datagram would have arrived after its lifetime. It was not sent, or not sent again after a loss.
  HEADWAY_FATE_EXPIRED = 5,
  // The send queue was full and refused the datagram: a new one, or one that was lost and should be sent again.
  HEADWAY_FATE_REFUSED = 6,
  // The send queue was full and discarded the datagram for another one.
  HEADWAY_FATE_PUSHED_OUT = 7,
  // The datagram was sent, but no report of the peer shows whether it arrived.
  HEADWAY_FATE_UNKNOWN = 8,
  // The connection was closed while the datagram was in the send queue.
  HEADWAY_FATE_WITHDRAWN = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum HeadwayFate HeadwayFate;
#else
typedef int32_t HeadwayFate;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Reason why a connection is closed.
enum HeadwayReason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The connection is not closed, or the reason is one of a newer version of the library.
  HEADWAY_REASON_NONE = 0,
  // This end closed the connection.
  HEADWAY_REASON_HERE = 1,
  // The peer closed the connection.
  HEADWAY_REASON_PEER = 2,
  // The peer does not answer.
  HEADWAY_REASON_NO_ANSWER = 3,
  // The peer refused the connection or ended it with an error.
  HEADWAY_REASON_PEER_RESET = 4,
  // This end ended the connection after an error.
  HEADWAY_REASON_ABORTED = 5,
  // The circuit breaker ended the connection: its data harmed the network or did not arrive.
  HEADWAY_REASON_BREAKER = 6,
  // The secure session failed or ended. A fingerprint may be wrong.
  HEADWAY_REASON_SECURITY = 7,
  // The connection could not be opened: too many connections, no free port, or an invalid option.
  HEADWAY_REASON_REFUSED = 8,
  // The socket failed.
  HEADWAY_REASON_SOCKET = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum HeadwayReason HeadwayReason;
#else
typedef int32_t HeadwayReason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Kind of media of a datagram.
enum HeadwayKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Any other data.
  HEADWAY_KIND_DATA = 0,
  // Audio.
  HEADWAY_KIND_AUDIO = 1,
  // Video of unspecified frame type.
  HEADWAY_KIND_VIDEO = 2,
  // Intra-coded video frame.
  HEADWAY_KIND_VIDEO_I = 3,
  // Video frame predicted from earlier frames.
  HEADWAY_KIND_VIDEO_P = 4,
  // Video frame predicted from earlier and later frames.
  HEADWAY_KIND_VIDEO_B = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum HeadwayKind HeadwayKind;
#else
typedef int32_t HeadwayKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A connection. Several threads may use it: one may send while another receives.
typedef struct HeadwayConnection HeadwayConnection;

// A UDP socket, its connections and the thread that serves them. Several threads may use it.
typedef struct HeadwayEndpoint HeadwayEndpoint;

// Options of an endpoint and its connections. One thread at a time may use them.
typedef struct HeadwayOptions HeadwayOptions;

// Event of a connection. Set `size` to `sizeof(HeadwayEvent)` before a call of `headway_next_event`. Fields that the
// kind of the event does not have are 0.
typedef struct {
  // Size of the structure of the caller, in bytes. The library sets it to the bytes that it wrote.
  size_t size;
  // Kind of the event, which determines the fields that have a value.
  HeadwayEventKind kind;
  // Transmission or outcome of the datagram.
  HeadwayFate fate;
  // Reason why the connection is closed.
  HeadwayReason reason;
  // Reserved, 0.
  int32_t reserved;
  // Number of the datagram, which `headway_send` wrote, or index of the discrete rate, from 0 for the lowest.
  uint64_t number;
  // Time after the end of its lifetime at which the send queue expected a discarded datagram to arrive, in us; 0 if
  // it could still have arrived in time.
  uint64_t lateness_us;
  // Rate, in bit/s.
  uint64_t rate;
  // Size of the largest datagram, in bytes.
  uint64_t largest;
} HeadwayEvent;

// Statistics of a connection. Set `size` to `sizeof(HeadwayStatistics)` before a call of `headway_statistics`.
// Counters start at 0.
typedef struct {
  // Size of the structure of the caller, in bytes. The library sets it to the bytes that it wrote.
  size_t size;
  // Smoothed round-trip time, in us; 0 before it is measured.
  uint64_t rtt_us;
  // Rate that an encoder should produce, in bit/s; 0 before the connection is established.
  uint64_t encoder_rate;
  // Bytes of the datagrams in the send queue, without headers.
  uint64_t queued_bytes;
  // Datagrams sent; a datagram that is sent again counts again.
  uint64_t sent_datagrams;
  // Bytes of the datagrams sent, without headers.
  uint64_t sent_bytes;
  // Packets sent that the peer reported as lost.
  uint64_t lost_packets;
  // Packets sent that the peer reported as marked by the network (ECN Congestion Experienced).
  uint64_t marked_packets;
  // Packets sent up to the newest one that the peer acknowledged, with or without data, including lost ones.
  uint64_t acknowledged_packets;
  // Datagrams received, including `unread_datagrams`.
  uint64_t received_datagrams;
  // Bytes of the datagrams received, without headers.
  uint64_t received_bytes;
  // Packets of the peer before the newest one received that have not arrived and may have carried datagrams.
  uint64_t missing_datagrams;
  // Datagrams received and then dropped, because this program did not read in time.
  uint64_t unread_datagrams;
} HeadwayStatistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0". The text is static.
const char *headway_version(void);

// Returns a sentence about the last error of a function of this library in the calling thread, or an empty text. The
// library owns the text. It is valid until the next call of a function of this library in the same thread.
const char *headway_last_error(void);

// Creates the options of a server with DTLS, a new identity, and trust in clients with any identity. The caller owns
// the options and frees them with `headway_options_free`.
HeadwayCode headway_options_server(HeadwayOptions **options);

// Creates the options of a client with DTLS and a new identity. It trusts no server before `headway_options_trust` or
// `headway_options_trust_any`. The caller owns the options and frees them with `headway_options_free`.
HeadwayCode headway_options_client(HeadwayOptions **options);

// Creates options without security, for a server or a client: plain DCCP in UDP (RFC 6773). An attacker on the path
// can read all packets and forge others. The caller owns the options and frees them with `headway_options_free`.
HeadwayCode headway_options_insecure(HeadwayOptions **options);

// Frees options. Endpoints that were opened with them keep a copy. Null is ignored.
void headway_options_free(HeadwayOptions *options);

// Selects the rate controller of both directions by its name in scenarios. The default is "tfrc-filtered" or, if the
// peer does not accept it, "tfrc", "tcp-like" or "tfrc-sp". All others are experimental, and both ends must select the
// same. Controllers that need options beyond their name are refused.
HeadwayCode headway_options_set_controller(HeadwayOptions *options,
                                           const char *name);

// Selects the send queue by its name in scenarios, such as "sfdps2". The default is "sure-first".
HeadwayCode headway_options_set_send_queue(HeadwayOptions *options, const char *name);

// Sets the identity to the first certificate and the first private key (P-256 or P-384) of a text in PEM, such as the
// file of `headway recv --identity`.
HeadwayCode headway_options_set_identity(HeadwayOptions *options,
                                         const char *pem);

// Sets the DCCP port of the server, 5004 by default, which both ends must set to the same value. It is independent of
// the UDP port, which `headway_listen` sets.
HeadwayCode headway_options_set_port(HeadwayOptions *options,
                                     uint16_t port);

// Trusts the peer with this fingerprint, such as "sha-256 AB:CD:..". Several calls add several fingerprints. From the
// first call on, only peers with one of them are accepted. A server then requests certificates from its clients.
HeadwayCode headway_options_trust(HeadwayOptions *options,
                                  const char *fingerprint);

// Accepts any peer. This protects against eavesdropping but not against a man in the middle.
HeadwayCode headway_options_trust_any(HeadwayOptions *options);

// Writes the fingerprint by which peers authenticate this endpoint, with a zero byte at its end, into the caller's
// buffer `fingerprint` of `size` bytes: at least `HEADWAY_FINGERPRINT_SIZE`.
HeadwayCode headway_options_fingerprint(const HeadwayOptions *options,
                                        char *fingerprint,
                                        size_t size);

// Opens an endpoint for clients on an unused port, with a copy of the options. The caller owns the endpoint and frees
// it with `headway_endpoint_free`.
HeadwayCode headway_open(const HeadwayOptions *options,
                         HeadwayEndpoint **endpoint);

// Opens an endpoint for a server, with a copy of the options. `address` is HOST:PORT, such as "0.0.0.0:5004" or
// "[::]:5004"; port 0 is an unused port. The caller owns the endpoint and frees it with `headway_endpoint_free`.
HeadwayCode headway_listen(const HeadwayOptions *options,
                           const char *address,
                           HeadwayEndpoint **endpoint);

// Frees an endpoint and closes connections of clients that the program has not accepted. Connections that the program
// has opened or accepted continue. Null is ignored. No other thread may use the endpoint.
void headway_endpoint_free(HeadwayEndpoint *endpoint);

// Writes the local UDP port of the endpoint.
HeadwayCode headway_endpoint_port(const HeadwayEndpoint *endpoint, uint16_t *port);

// Connects to a server at `address`, HOST:PORT, and returns without waiting for it. Datagrams sent on the connection
// wait until it is established. The name of a host is first looked up, which may take seconds. The caller owns the
// connection and frees it with `headway_close`.
HeadwayCode headway_connect(const HeadwayEndpoint *endpoint,
                            const char *address,
                            HeadwayConnection **connection);

// Waits until a client has connected, for at most `timeout_us` us or `HEADWAY_UNLIMITED`. If there is none, returns
// `HEADWAY_CODE_TIMEOUT` and writes no connection. The caller owns the connection and frees it with `headway_close`.
HeadwayCode headway_accept(const HeadwayEndpoint *endpoint,
                           uint64_t timeout_us,
                           HeadwayConnection **connection);

// Waits until the connection is established (at a client: until the server has answered) or has failed. If the server
// does not answer, it fails after about ten seconds.
HeadwayCode headway_connected(const HeadwayConnection *connection);

// Queues a datagram and returns without waiting. The library copies the `length` bytes at `payload`. `kind` is a
// `HeadwayKind`. Priority 0 is sent before 1, and 1 before 2. The default send queue drops a datagram that would
// arrive more than `lifetime_us` us after this call; if all queued datagrams would be late, it sends the one that
// expires last. With `HEADWAY_UNLIMITED` a datagram does not expire.
//
// Writes the number by which events refer to the datagram, counted from 0, unless `number` is null. A full send queue
// is not an error: an event reports which datagram it discarded. `payload` is the address of `length` bytes, or null
// if `length` is 0.
HeadwayCode headway_send(const HeadwayConnection *connection,
                         const uint8_t *payload,
                         size_t length,
                         int32_t kind,
                         uint8_t priority,
                         uint64_t lifetime_us,
                         uint64_t *number);

// Waits for a datagram, for at most `timeout_us` us or `HEADWAY_UNLIMITED`, and writes it into the caller's buffer of
// `size` bytes and its length to `length`. A buffer of 65535 bytes has room for every datagram.
//
// If the buffer is too small, returns `HEADWAY_CODE_BUFFER_TOO_SMALL` and writes the length; the next call receives
// the datagram again. Once the connection is closed and all datagrams are received, returns `HEADWAY_CODE_CLOSED`.
// `buffer` is the address of `size` bytes, or null if `size` is 0.
HeadwayCode headway_receive(const HeadwayConnection *connection,
                            uint64_t timeout_us,
                            uint8_t *buffer,
                            size_t size,
                            size_t *length);

// Waits for an event, for at most `timeout_us` us or `HEADWAY_UNLIMITED`, and writes it. The caller sets `event->size`
// before. At most 1024 unread events are kept: the newest. After the last event, returns `HEADWAY_CODE_CLOSED`. If
// there is no event, all fields of `event` except `size` are set to 0.
HeadwayCode headway_next_event(const HeadwayConnection *connection,
                               uint64_t timeout_us,
                               HeadwayEvent *event);

// Writes the rate that an encoder should produce now, in bit/s; 0 before the connection is established.
HeadwayCode headway_encoder_rate(const HeadwayConnection *connection,
                                 uint64_t *rate);

// Writes the size of the largest datagram that fits into one packet, in bytes; 0 before the connection is
// established. It may grow in the first round trips.
HeadwayCode headway_largest(const HeadwayConnection *connection,
                            size_t *largest);

// Writes the statistics of the connection. The caller sets `statistics->size` before. A closed connection, and one
// whose DTLS session is not established yet, has none: returns `HEADWAY_CODE_CLOSED`.
HeadwayCode headway_statistics(const HeadwayConnection *connection,
                               HeadwayStatistics *statistics);

// Starts to close the connection and returns without waiting, for a program whose other threads still use it: their
// calls return `HEADWAY_CODE_CLOSED`. Queued datagrams are sent for up to one second. Call `headway_close` as well.
HeadwayCode headway_start_close(const HeadwayConnection *connection);

// Closes the connection and frees it. Queued datagrams are sent for up to one second; the call waits at most two
// seconds until the connection is closed. Writes the reason why it is closed unless `reason` is null. A null
// connection is ignored. No other thread may use the connection.
void headway_close(HeadwayConnection *connection,
                   HeadwayReason *reason);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HEADWAY_H */
