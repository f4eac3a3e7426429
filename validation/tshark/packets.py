"""Compares every packet that the codec can write with Wireshark's dissection.

The example `every_packet` writes a capture and prints a description of it. This module converts each packet of tshark's dissection to the same
description and compares. No packet may be malformed, and only the packet that was damaged on purpose may raise a warning: tshark must report
its checksum as wrong.

What tshark 4.0.17 cannot judge:

- It does not support Reset code 12 (RFC 6773), option 195 (RFC 5622) and options 128 to 191: it prints their bytes. It interprets options
  192 to 194 as those of CCID 3 with every CCID.
- It prints the bytes of Init Cookie, Ack Vector, Data Dropped and Loss Intervals, but does not decode them. runs.py decodes them and compares
  them with the events of the path.
- It labels the values of each feature "Reserved(..)", but names the feature, and splits the values by the rule of the feature. It prints no
  values of unknown features; their bytes are compared. It prints Loss Intervals next to their option, not in it.
- It prints a short sequence number as `dccp.seq`, a long one as `dccp.seq_raw`.
- It reads neither DCCP in UDP (RFC 6773) nor the CRC-32c of a packet: only the value of the Data Checksum is compared.
"""

import collections
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from common import program

# Names that tshark does not have. For all others tshark must print the same name.
UNNAMED_RESETS = {"Encapsulated Port Reuse": "12", "Reserved 13": "13", "Reserved 127": "127"} | {f"CCID-specific {n}": f"{n}" for n in range(128, 256)}
KNOWN_FEATURES = {*map(str, range(1, 10)), "192"}
SPOILT = "spoilt"
SILENT = {"Comment", "Chat"}


def compare(folder):
    """Returns the cases: packets grouped by the beginning of their name."""
    capture = folder / "every_packet.pcapng"
    example = program.build("--package", "headway-dccp", "--example", "every_packet")
    written = subprocess.run([example, capture], check=True, capture_output=True, text=True).stdout.splitlines()
    command = ["tshark", "-r", capture, "-o", "dccp.check_checksum:TRUE", "-o", "dccp.relative_sequence_numbers:FALSE", "-T", "pdml"]
    dissected = ElementTree.fromstring(subprocess.run(command, check=True, capture_output=True, text=True).stdout).findall("packet")
    cases = collections.defaultdict(lambda: {"packets": 0, "fields": 0, "wrong": []})
    for line, packet in zip(written, dissected):
        name, *fields = line.split("\t")
        case = cases[group(name)]
        wanted, found = [*fields, f"status={'Bad' if name == SPOILT else 'Good'}"], list(shown(packet))
        case["packets"] += 1
        case["fields"] += len(wanted)
        case["wrong"] += [f"{name}: written {was}, tshark has {sees}" for was, sees in differences(wanted, found)]
        case["wrong"] += [f"{name}: {warning}" for warning in warnings(packet) if name != SPOILT]
    all_there = {"name": "packets: all dissected", "pass": len(written) == len(dissected) > 0, "packets": len(dissected), "wrong": []}
    return [all_there] + [{"name": f"packets: {name}", "pass": not case["wrong"]} | case for name, case in cases.items()]


def group(name):
    for pattern, called in [("(Change|Confirm)[LR] ", "features"), ("Reset, ", "Reset codes"), ("CsCov|CCVal", "coverage"), ("short", "short numbers"),
                            ("spoilt", "spoilt on purpose"), (".*numbers|.*bytes of data|service", "header"), (".* with |[A-Z][A-Za-z]+$", "types and options")]:
        if re.match(pattern, name):
            return called
    return "options"


def differences(wanted, found):
    """Returns the pairs that are not equal, in their order."""
    wanted, found = collections.Counter(wanted), collections.Counter(found)
    missing, others = list((wanted - found).elements()), list((found - wanted).elements())
    yield from zip(missing + ["nothing"] * (len(others) - len(missing)), others + ["nothing"] * (len(missing) - len(others)))


def shown(packet):
    """Returns a dissected packet in the format of the example."""
    ip = packet.find("proto[@name='ip']")
    yield f"ip.version={6 if ip is None else 4}"
    dccp = packet.find("proto[@name='dccp']")
    if dccp is None:
        yield "no DCCP"
        return
    for field in dccp:
        name, value = field.get("name"), field.get("show")
        if name in ("dccp.type", "dccp.checksum.status"):
            # "0001 011. = Type: SyncAck (9)", "Checksum Status: Good"
            value = re.sub(r".*: (\w+).*", r"\1", field.get("showname"))
            name = name.replace("dccp.checksum.status", "status")
        elif name == "dccp.reset_code":
            named = re.fullmatch(r".*: (.*) \((\d+)\)", field.get("showname"))
            value = named[1] if named[2] not in UNNAMED_RESETS.values() else next(name for name, code in UNNAMED_RESETS.items() if code == named[2])
        elif name == "dccp.seq":
            name = "dccp.seq_raw"
        elif name in ("dccp.res1", "dccp.res2", "dccp.ack_res"):
            if int(value, 16) != 0:
                yield f"{name}={value}"
            continue
        elif name not in ("dccp.srcport", "dccp.dstport", "dccp.data_offset", "dccp.ccval", "dccp.cscov", "dccp.x", "dccp.seq_raw", "dccp.ack_raw",
                          "dccp.service_code", "dccp.data1", "dccp.data2", "dccp.data3"):
            continue
        yield f"{name}={value}"
    for option, following in pairs(dccp.findall("field[@name='dccp.options']/field")):
        yield f"option={option.get('show')} {shown_option(option, following)}"
    data = packet.find(".//field[@name='data.data']")
    yield f"data={'' if data is None else data.get('value')}"


def pairs(fields):
    """Yields each option with the field that tshark prints after it instead of in it."""
    for at, field in enumerate(fields):
        if field.get("name") == "dccp.option_type":
            yield field, [following for following in fields[at + 1:at + 2] if following.get("name") != "dccp.option_type"]


def shown_option(option, following):
    feature = option.find(".//field[@name='dccp.feature_number']")
    if feature is not None:
        # "Reserved( 4, 3, 2)"
        number, label = feature.get("show"), option[0].get("show")
        values = re.findall(r"\d+", label[label.index("("):]) if number in KNOWN_FEATURES else list(map(str, bytes.fromhex(option.get("value"))[3:]))
        return f"{number}:{''.join(' ' + value for value in values)}"
    values = []
    for field in [*option, *following]:
        name, bytes_of = field.get("name"), field.get("value") or ""
        if name == "dccp.checksum_data":
            values.append(str(int(field.get("show"), 16)))
        elif name in ("dccp.option_reserved", "dccp.ccid_option_data") and int(option.get("show")) < 32:
            values.append("") # one byte long: tshark prints the type again
        elif name in ("dccp.ndp_count", "dccp.timestamp", "dccp.timestamp_echo", "dccp.elapsed_time", "dccp.ccid3_loss_event_rate", "dccp.ccid3_receive_rate"):
            values.append(field.get("show"))
        else:
            values.append(bytes_of)
    return " ".join(values)


def warnings(packet):
    """Returns the warnings of tshark."""
    for expert in packet.iter("field"):
        if expert.get("name") == "_ws.expert":
            severity = expert.find("field[@name='_ws.expert.severity']").get("showname").removeprefix("Severity level: ")
            if severity not in SILENT:
                yield f"{severity}: {expert.find('field[@name=' + repr('_ws.expert.message') + ']').get('show')}"
    for proto in packet.iter("proto"):
        if proto.get("name") in ("_ws.malformed", "_ws.short"):
            yield proto.get("name")
